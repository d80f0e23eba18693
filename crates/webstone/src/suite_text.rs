//! File lists as suites.

use std::fmt::Write;

use crate::filelist::{FileList, ListedFile, Page};

/// Longest part of a file name in a name of a suite.
const LONGEST: usize = 40;

impl FileList {
    /// The list as the text of a suite, for any command that takes one.
    pub fn suite_text(&self, title: &str) -> String {
        let mut text = String::new();
        self.write(title, &mut text)
            .unwrap_or_else(|_| unreachable!("writing to a text cannot fail"));
        text
    }

    fn write(&self, title: &str, out: &mut String) -> std::fmt::Result {
        writeln!(out, "# Made by `prestan webstone --print`.")?;
        writeln!(out, "suite: {}", self.suite_name())?;
        writeln!(out, "version: 1")?;
        writeln!(out, "title: {}", quoted(title))?;
        writeln!(out, "needs: {}", if self.posts() { "cgi" } else { "http" })?;
        writeln!(out, "params: {{requests: 10}}")?;
        writeln!(out, "tests:")?;
        writeln!(out, "  - name: Pages")?;
        writeln!(out, "    loop:")?;
        writeln!(out, "      - choose:")?;
        for (number, page) in self.pages.iter().enumerate() {
            write_page(number, page, out)?;
        }
        Ok(())
    }

    /// The name of its suite.
    pub fn suite_name(&self) -> String {
        if self.name.starts_with("webstone") {
            self.name.clone()
        } else {
            format!("webstone-{}", self.name)
        }
    }
}

/// Pages are counted from 0, as they are in the reports of 1995.
fn write_page(number: usize, page: &Page, out: &mut String) -> std::fmt::Result {
    writeln!(out, "          - weight: {}", page.weight)?;
    writeln!(out, "            steps:")?;
    writeln!(out, "              - page: Page{number}")?;
    writeln!(out, "                steps:")?;
    for (index, file) in page.files.iter().enumerate() {
        let ListedFile {
            path,
            query,
            form,
            size,
        } = file;
        let method = if form.is_some() { "POST" } else { "GET" };
        writeln!(out, "                  - {method}: {}", quoted(path))?;
        if let Some(query) = query {
            writeln!(out, "                    query: {}", quoted(query))?;
        }
        if let Some(form) = form {
            let (text, kind) = (quoted(form), "application/x-www-form-urlencoded");
            writeln!(
                out,
                "                    body: {{text: {text}, type: {kind}}}"
            )?;
        }
        let length = size.map(|size| format!(", length: {size}"));
        let length = length.unwrap_or_default();
        writeln!(out, "                    expect: {{status: [200]{length}}}")?;
        let name = path.rsplit('/').next().unwrap_or_default();
        let name = plain(name, LONGEST);
        writeln!(
            out,
            "                    measure: Page{number}-{}-{name}",
            index + 1
        )?;
    }
    Ok(())
}

/// A text in quotes, as in JSON and YAML; characters that YAML does not allow (YAML 1.2.2, section
/// 5.1) are escaped, too.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json.chars()
        .map(|c| match c {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'
            | '\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => {
                format!("\\u{:04x}", u32::from(c))
            }
            c => c.to_string(),
        })
        .collect()
}

/// The beginning of a text, in characters that a name may have.
pub(crate) fn plain(text: &str, most: usize) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let letters = text.chars().map(|c| if fine(c) { c } else { '_' });
    let text: String = letters.take(most).collect();
    if text.is_empty() {
        "index".to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use suite::{Overrides, Step};

    use super::*;
    use crate::{MIXES, Mix};

    fn plan(list: &FileList) -> suite::Plan {
        let text = list.suite_text("a \"title\"");
        let spec = suite::parse("list", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        suite::resolve("list", &text, &spec, &Overrides::default())
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn every_mix_is_a_suite() {
        for mix in MIXES {
            let list = mix.list();
            let plan = plan(&list);
            assert_eq!(plan.pages.len(), list.pages.len());
            for (record, page) in plan.pages.iter().zip(&list.pages) {
                let bytes = page.files.iter().map(|file| file.size.unwrap()).sum();
                assert_eq!((record.weight, record.bytes), (page.weight, Some(bytes)));
                assert_eq!(record.files.len(), page.files.len());
            }
        }
    }

    #[test]
    fn the_suite_of_a_mix() {
        let list = Mix::find("general-modem").unwrap().list();
        insta::assert_snapshot!(list.suite_text("small pages"));
    }

    #[test]
    fn a_file_may_be_in_several_pages_and_a_path_may_look_strange() {
        let odd = "1 1\n/a\u{ffff}\u{fffe}\u{feff}b\n";
        assert_eq!(plan(&FileList::parse("l", odd).unwrap()).pages.len(), 1);
        let text = "1 3\n/a%20%22b%22/%C3%A9.html\n/x\n/\n1 1\n/x\n";
        let plan = plan(&FileList::parse("l", text).unwrap());
        let names: Vec<&str> = plan.measures.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            ["Page0-1-__html", "Page0-2-x", "Page0-3-index", "Page1-1-x"]
        );
        let [Step::Choose(pages)] = &plan.tests[0].loops[0].steps[..] else {
            panic!("a choice of pages")
        };
        let [Step::Page(page)] = &pages[0].steps[..] else {
            panic!("a page")
        };
        let path = &page.files[0].path;
        assert_eq!(
            *path,
            suite::Text::Fixed("a%20%22b%22/%C3%A9.html".to_owned())
        );
    }

    #[test]
    fn a_dynamic_page_is_requested_as_it_is_written() {
        let text = "1 2\n/cgi%20bin/send?size=1024&name=a%20b%2f? 5\n/file1k.dyn?\n";
        let list = FileList::parse("l", text).unwrap();
        assert_eq!(list.files().count(), 0);
        let plan = plan(&list);
        let requests: Vec<_> = plan.looped_requests().collect();
        let path = |text: &str| suite::Text::Fixed(text.to_owned());
        assert_eq!(
            requests[0].path,
            path("cgi%20bin/send?size=1024&name=a%20b%2f?")
        );
        assert_eq!(requests[0].expect.length, Some(5));
        // The size in its name is not the size of the program's response.
        assert_eq!(
            (&requests[1].path, requests[1].expect.length),
            (&path("file1k.dyn?"), None)
        );
        let pages = ["/a?b=1&c=2,/d=3".to_owned()];
        let of_pages = FileList::from_pages(&pages).unwrap();
        let [dynamic, file] = &of_pages.pages[0].files[..] else {
            panic!("two files")
        };
        assert_eq!(
            (dynamic.query.as_deref(), dynamic.size),
            (Some("b=1&c=2"), None)
        );
        assert_eq!((file.query.as_deref(), file.size), (None, Some(3)));
    }

    proptest! {
        #[test]
        fn what_is_a_list_is_a_suite(paths in proptest::collection::vec("[^\\s#]{1,12}", 1..5)) {
            let text = format!("1 {}\n{}", paths.len(), paths.join("\n"));
            if let Ok(list) = FileList::parse("l", &text) {
                let files = plan(&list).pages[0].files.len();
                prop_assert_eq!(files, paths.len());
            }
        }
    }
}
