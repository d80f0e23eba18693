//! The file list of WebSTONE.
//!
//! ```text
//! # comments, anywhere
//! 2                     # the number of pages, which may be left out
//! 40 3                  # a page: its weight, and how many files follow
//! /file3k.html
//! /file4k.html
//! /file5k.html
//! 60 1
//! /logo.gif 14KiB       # a size that is not in the name
//! ```
//!
//! A line `POST /cgi-bin/order item=5&count=2` sends a form to such a program. A line with a `?` is
//! a dynamic page, which a program on the server makes (CGI): `/cgi-bin/send?size=1024`.
//!
//! A file is identified by its path: it has the same size wherever it is listed.

use std::collections::BTreeMap;
use std::fmt;

use percent_encoding::percent_decode_str;
use thiserror::Error;

/// Pages with their weights.
#[derive(Debug, Clone, PartialEq)]
pub struct FileList {
    /// Name of a mix, or of a file without its extension.
    pub name: String,
    /// Pages in order.
    pub pages: Vec<Page>,
}

/// Files that are fetched together.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Frequency of the page relative to others.
    pub weight: f64,
    /// Files in order.
    pub files: Vec<ListedFile>,
}

/// A file on the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedFile {
    /// Path below the URL of the server, without a leading slash and without escapes.
    pub path: String,
    /// The query of a dynamic page, with its escapes.
    pub query: Option<String>,
    /// The form that is sent to it by POST, URL-encoded; `None` for a GET.
    pub form: Option<String>,
    /// Length in bytes, if known.
    pub size: Option<u64>,
}

impl ListedFile {
    /// True if a program on the server makes it.
    pub fn is_dynamic(&self) -> bool {
        self.query.is_some() || self.form.is_some()
    }
}

/// A defect of a file list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub struct FileListError {
    file: String,
    line: Option<usize>,
    message: String,
}

impl fmt::Display for FileListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

/// Largest size of a file that a suite can expect.
const MOST_BYTES: u64 = 1 << 53;
/// Most files of all pages together that a suite can name.
const MOST_FILES: usize = u16::MAX as usize;

impl FileList {
    /// Parses a file list. `file` is its name in errors.
    ///
    /// # Errors
    /// The first defect, with its line.
    pub fn parse(file: &str, text: &str) -> Result<FileList, FileListError> {
        let mut lines = Lines::new(file, text.strip_prefix('\u{feff}').unwrap_or(text));
        let announced = lines.number_of_pages()?;
        let (mut pages, mut first) = (Vec::new(), None);
        while let Some((line, text)) = lines.next() {
            first.get_or_insert(line);
            pages.push(lines.page(line, text)?);
        }
        if let Some((line, announced)) = announced
            && announced != pages.len()
        {
            let there_are = pages.len();
            let message = format!("{announced} pages are announced, and there are {there_are}");
            return Err(lines.error(line, message));
        }
        FileList::of(file, pages).map_err(|message| match first {
            Some(line) => lines.error(line, message),
            None => lines.error_of_all(message),
        })
    }

    /// Parses pages of the command line, each `[WEIGHT:]FILE[,FILE...]`; a FILE may have `=SIZE`.
    ///
    /// # Errors
    /// The first defect, with its page.
    pub fn from_pages(texts: &[String]) -> Result<FileList, FileListError> {
        let mut sizes = Sizes::default();
        let page = |text: &String| {
            let help = |message: String| FileListError {
                file: format!("page `{text}`"),
                line: None,
                message,
            };
            let (weight, files) = match text.split_once(':') {
                Some((weight, files)) if weight.parse::<f64>().is_ok() => (weight, files),
                _ => ("1", text.as_str()),
            };
            let weight = read_weight(weight).map_err(help)?;
            let files = files.split(',').map(|file| {
                let (path, size) = match file.split_once('=').filter(|_| !file.contains('?')) {
                    Some((path, size)) => (path, Some(size)),
                    None => (file, None),
                };
                let file = read_file(path, size).map_err(help)?;
                sizes.agree(&file, None).map_err(help)?;
                Ok(file)
            });
            Ok(Page {
                weight,
                files: files.collect::<Result<_, _>>()?,
            })
        };
        let pages = texts.iter().map(page).collect::<Result<_, _>>()?;
        FileList::of("pages", pages).map_err(|message| FileListError {
            file: "pages".to_owned(),
            line: None,
            message,
        })
    }

    fn of(file: &str, pages: Vec<Page>) -> Result<FileList, String> {
        if pages.iter().all(|page| page.weight == 0.0) {
            return Err(if pages.is_empty() {
                "there is no page in it".to_owned()
            } else {
                "no page has a weight, so none would ever be drawn".to_owned()
            });
        }
        let files = pages.iter().map(|page| page.files.len()).sum::<usize>();
        if files > MOST_FILES {
            return Err(format!("{files} files; {MOST_FILES} can be measured"));
        }
        Ok(FileList {
            name: name_of(file),
            pages,
        })
    }

    /// True if a page of it sends a form.
    pub fn posts(&self) -> bool {
        let mut files = self.pages.iter().flat_map(|page| &page.files);
        files.any(|file| file.form.is_some())
    }

    /// Every file once, by name, with its size if known; without dynamic pages, which are no files.
    pub fn files(&self) -> impl Iterator<Item = (&str, Option<u64>)> {
        let mut sizes: BTreeMap<&str, Option<u64>> = BTreeMap::new();
        let files = self.pages.iter().flat_map(|page| &page.files);
        for file in files.filter(|file| !file.is_dynamic()) {
            let known = sizes.entry(&file.path).or_default();
            *known = known.or(file.size);
        }
        sizes.into_iter()
    }
}

/// The size of each file, and the line that defines it.
#[derive(Default)]
struct Sizes(BTreeMap<String, (u64, Option<usize>)>);

impl Sizes {
    fn agree(&mut self, file: &ListedFile, line: Option<usize>) -> Result<(), String> {
        let Some(size) = file.size else { return Ok(()) };
        let form = file.form.iter().map(|form| format!(" {form}"));
        let query = file.query.iter().map(|query| format!("?{query}"));
        let name: String = std::iter::once(file.path.clone())
            .chain(query)
            .chain(form)
            .collect();
        let (known, at) = *self.0.entry(name.clone()).or_insert((size, line));
        if known == size {
            return Ok(());
        }
        let place = at.map_or("elsewhere".to_owned(), |line| format!("in line {line}"));
        Err(format!(
            "/{name} has {size} bytes here, and {known} {place}"
        ))
    }
}

/// The lines of a file list with content, each with its number from 1.
struct Lines<'a> {
    file: &'a str,
    lines: Box<dyn Iterator<Item = (usize, &'a str)> + 'a>,
    /// A line that was peeked at.
    ahead: Option<(usize, &'a str)>,
    sizes: Sizes,
}

impl<'a> Lines<'a> {
    fn new(file: &'a str, text: &'a str) -> Lines<'a> {
        let without_comment = |line: &'a str| line.split('#').next().unwrap_or_default().trim();
        let lines = text.lines().enumerate();
        let lines = lines.map(move |(index, line)| (index + 1, without_comment(line)));
        Lines {
            file,
            lines: Box::new(lines.filter(|(_, line)| !line.is_empty())),
            ahead: None,
            sizes: Sizes::default(),
        }
    }

    fn next(&mut self) -> Option<(usize, &'a str)> {
        self.ahead.take().or_else(|| self.lines.next())
    }

    fn error(&self, line: usize, message: impl Into<String>) -> FileListError {
        FileListError {
            file: self.file.to_owned(),
            line: Some(line),
            message: message.into(),
        }
    }

    fn error_of_all(&self, message: String) -> FileListError {
        FileListError {
            file: self.file.to_owned(),
            line: None,
            message,
        }
    }

    /// A first line with a single number.
    fn number_of_pages(&mut self) -> Result<Option<(usize, usize)>, FileListError> {
        let Some((line, text)) = self.next() else {
            return Ok(None);
        };
        match text.parse() {
            Ok(pages) => Ok(Some((line, pages))),
            Err(_) => {
                self.ahead = Some((line, text));
                Ok(None)
            }
        }
    }

    fn page(&mut self, line: usize, text: &str) -> Result<Page, FileListError> {
        let Some((weight, count)) = page_line(text) else {
            return Err(self.error(
                line,
                format!(
                    "`{text}` stands where a page should begin, with its weight and how many files \
                     it has (`40 3`)"
                ),
            ));
        };
        let weight = read_weight(weight).map_err(|message| self.error(line, message))?;
        let count: usize = match count.parse() {
            Ok(count @ 1..) => count,
            _ => return Err(self.error(line, format!("`{count}` is no number of files"))),
        };
        let mut files = Vec::new();
        for found in 0..count {
            let short = format!("the page has {count} files, and only {found} follow");
            let Some((at, text)) = self.next() else {
                return Err(self.error(line, short));
            };
            if page_line(text).is_some() {
                return Err(self.error(line, format!("{short}: line {at} begins another page")));
            }
            let file = read_line(text).map_err(|message| self.error(at, message))?;
            let agreed = self.sizes.agree(&file, Some(at));
            agreed.map_err(|message| self.error(at, message))?;
            files.push(file);
        }
        Ok(Page { weight, files })
    }
}

/// Parses a file, or a form and its path.
fn read_line(text: &str) -> Result<ListedFile, String> {
    let mut words = text.split_whitespace();
    let mut next = || words.next();
    let first = next().unwrap_or_default();
    let (path, form) = if first == "POST" {
        let (path, form) = (next(), next());
        let needs = "a line with POST has a path and a form: `POST /cgi-bin/order item=5&count=2`";
        (path.ok_or(needs)?, Some(form.ok_or(needs)?))
    } else {
        (first, None)
    };
    let size = next();
    if let Some(more) = next() {
        return Err(format!(
            "`{more}` follows a file and its size; escape blanks as %20"
        ));
    }
    let file = read_file(path, size)?;
    let Some(form) = form else { return Ok(file) };
    suite::check_query(form).map_err(|why| format!("the form `{form}` cannot be sent: {why}"))?;
    if is_filled_in(form) {
        return Err(format!("`{form}` has braces that a suite would fill in"));
    }
    Ok(ListedFile {
        form: Some(form.to_owned()),
        // The size of a program's response does not depend on its name.
        size: file.size.filter(|_| size.is_some()),
        ..file
    })
}

/// Two numbers, which begin a page.
fn page_line(text: &str) -> Option<(&str, &str)> {
    let mut words = text.split_whitespace();
    let (one, other) = (words.next()?, words.next()?);
    let are_numbers = [one, other].iter().all(|word| word.parse::<f64>().is_ok());
    (are_numbers && words.next().is_none()).then_some((one, other))
}

fn read_weight(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(weight) if weight.is_finite() && weight >= 0.0 => Ok(weight),
        _ => Err(format!("`{text}` is no weight; write a number from 0 on")),
    }
}

fn read_file(text: &str, size: Option<&str>) -> Result<ListedFile, String> {
    if text.contains("://") {
        return Err(format!(
            "`{text}` is a URL; write its path only, and give the server on the command line"
        ));
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    if let Some(Err(why)) = query.map(suite::check_query) {
        return Err(format!("`{text}` cannot be requested: {why}"));
    }
    let path = percent_decode_str(path.strip_prefix('/').unwrap_or(path)).decode_utf8();
    let path = path.map_err(|_| format!("`{text}` is not UTF-8 once it is decoded"))?;
    if path.starts_with('/') || path.split('/').any(|part| part == ".." || part == ".") {
        return Err(format!("`{text}` leads out of the collection at the URL"));
    }
    if is_filled_in(&path) || query.is_some_and(is_filled_in) {
        return Err(format!("`{text}` has braces that a suite would fill in"));
    }
    if path.contains(char::is_control) {
        return Err(format!("{text:?} has a character that is in no path"));
    }
    let size = match size {
        Some(size) => Some(suite::parse_size(size)?),
        None if query.is_some() => None,
        None => size_in_name(&path),
    };
    let query = query.map(str::to_owned);
    let path = path.into_owned();
    Ok(ListedFile {
        path,
        query,
        form: None,
        size,
    })
}

/// True if a part of a text would be a template in a suite.
fn is_filled_in(text: &str) -> bool {
    ["{{", "{%", "{#"]
        .iter()
        .any(|opening| text.contains(opening))
}

/// The size in a name like those of 1995: `file3k.html` has 3 KiB, `file5m.html` 5 MiB. A number
/// without a unit is not a size.
fn size_in_name(path: &str) -> Option<u64> {
    let name = path.rsplit('/').next()?.strip_prefix("file")?;
    let stem = name.split('.').next()?;
    let digits = stem.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: u64 = digits.parse().ok()?;
    let unit = match &stem[digits.len()..] {
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        _ => return None,
    };
    number.checked_mul(unit).filter(|size| *size <= MOST_BYTES)
}

/// The name of a file without directories and extension, in characters of names in suites.
fn name_of(file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    let stem = match name.split_once('.') {
        Some((stem, _)) if !stem.is_empty() => stem,
        _ => name,
    };
    crate::suite_text::plain(stem, 40)
}

#[cfg(test)]
mod tests;
