//! Rust as seen by the compiler outside of tests: names in the code of a crate, without comments,
//! strings and items under `#[cfg(test)]`.
//!
//! Text search is not enough. An item for tests may be anywhere in a file, a name of the standard
//! library in a group of imports, and `//` in a string.

use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// A name as it is written, groups of imports taken apart: `std::fs::File`, `println!`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) line: usize,
    /// A macro's has a `!` at its end.
    pub(crate) parts: Vec<String>,
}

impl Name {
    /// True if these parts are adjacent in it: `fs::File` in `std::fs::File`.
    pub(crate) fn contains(&self, parts: &str) -> bool {
        let parts: Vec<&str> = parts.split("::").collect();
        self.parts.windows(parts.len()).any(|some| some == parts)
    }
}

/// What a file defines.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) line: usize,
    /// `struct`, `fn`.
    pub(crate) keyword: String,
    pub(crate) name: String,
}

/// Words before the name of what is defined. No unions: the word is a common name of functions.
const DEFINING: [&str; 7] = ["const", "enum", "fn", "static", "struct", "trait", "type"];

/// Content of one file.
#[derive(Debug, Default)]
pub(crate) struct RustCode {
    pub(crate) names: Vec<Name>,
    /// Names after `use`, which are among all names, too.
    pub(crate) imports: Vec<Name>,
    pub(crate) items: Vec<Item>,
    /// Modules that are files of their own, each with the modules around it.
    pub(crate) modules: Vec<Vec<String>>,
    /// Text in quotes, but for what panics say, each with its line.
    pub(crate) texts: Vec<(usize, String)>,
}

/// Macros and functions with arguments for developers: messages of panics.
const PANICS: [&str; 8] = [
    "expect",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
];

impl RustCode {
    /// Fails where the text is no Rust.
    pub(crate) fn of(text: &str) -> RustCode {
        let tokens: TokenStream = text.parse().unwrap();
        let mut code = RustCode::default();
        code.read(tokens, &mut Vec::new());
        code
    }

    /// The types that it defines.
    pub(crate) fn types(&self) -> impl Iterator<Item = &Item> {
        let is_type = |item: &&Item| ["struct", "enum", "trait"].contains(&item.keyword.as_str());
        self.items.iter().filter(is_type)
    }

    fn read(&mut self, tokens: TokenStream, around: &mut Vec<String>) {
        let tokens = without_tests(tokens);
        let mut at = 0;
        while at < tokens.len() {
            at += match &tokens[at..] {
                [
                    TokenTree::Ident(word),
                    TokenTree::Ident(name),
                    TokenTree::Punct(end),
                    ..,
                ] if word == "mod" && end.as_char() == ';' => {
                    self.modules
                        .push([&around[..], &[name.to_string()]].concat());
                    3
                }
                [
                    TokenTree::Ident(word),
                    TokenTree::Ident(name),
                    TokenTree::Group(body),
                    ..,
                ] if word == "mod" => {
                    around.push(name.to_string());
                    self.read(body.stream(), around);
                    around.pop();
                    3
                }
                [TokenTree::Group(group), ..] => {
                    let texts = self.texts.len();
                    self.read(group.stream(), around);
                    if is_panic(&tokens[..at]) {
                        self.texts.truncate(texts);
                    }
                    1
                }
                [TokenTree::Literal(literal), ..] if literal.to_string().ends_with('"') => {
                    let line = literal.span().start().line;
                    self.texts.push((line, literal.to_string()));
                    1
                }
                [TokenTree::Ident(word), TokenTree::Ident(name), ..]
                    if DEFINING.contains(&&*word.to_string())
                        && !DEFINING.contains(&&*name.to_string()) =>
                {
                    self.items.push(Item {
                        line: name.span().start().line,
                        keyword: word.to_string(),
                        name: name.to_string(),
                    });
                    2
                }
                [TokenTree::Ident(word), TokenTree::Ident(_), ..] if word == "use" => {
                    let first = self.names.len();
                    let read = self.name(&tokens[at + 1..], &[]);
                    self.imports.extend_from_slice(&self.names[first..]);
                    1 + read
                }
                [TokenTree::Ident(_), ..] => self.name(&tokens[at..], &[]),
                _ => 1,
            };
        }
    }

    /// Reads a name, of which `before` is known; how many tokens it has.
    fn name(&mut self, tokens: &[TokenTree], before: &[String]) -> usize {
        let mut parts = before.to_vec();
        let line = tokens[0].span().start().line;
        let mut at = 0;
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(part)) => parts.push(part.to_string()),
                Some(TokenTree::Punct(all)) if all.as_char() == '*' => parts.push("*".to_owned()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                    self.group(group, &parts);
                    return at + 1;
                }
                _ => break,
            }
            at += 1;
            match &tokens[at..] {
                [TokenTree::Punct(one), TokenTree::Punct(two), ..]
                    if one.as_char() == ':' && two.as_char() == ':' =>
                {
                    at += 2;
                }
                [TokenTree::Punct(bang), TokenTree::Group(_), ..] if bang.as_char() == '!' => {
                    if let Some(last) = parts.last_mut() {
                        last.push('!');
                    }
                    break;
                }
                _ => break,
            }
        }
        // What is called differently here is not found any more.
        if let [TokenTree::Ident(word), TokenTree::Ident(alias), ..] = &tokens[at..]
            && word == "as"
        {
            parts.extend([word, alias].map(ToString::to_string));
        }
        self.names.push(Name { line, parts });
        at.max(1)
    }

    /// The names in the braces of an import.
    fn group(&mut self, group: &Group, before: &[String]) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at += match &tokens[at] {
                TokenTree::Punct(punct) if punct.as_char() != '*' => 1,
                TokenTree::Ident(word) if word == "as" => 2,
                _ => self.name(&tokens[at..], before),
            };
        }
    }
}

/// True if the next token is the message of a panic.
fn is_panic(before: &[TokenTree]) -> bool {
    let before = match before {
        [before @ .., TokenTree::Punct(bang)] if bang.as_char() == '!' => before,
        _ => before,
    };
    matches!(before, [.., TokenTree::Ident(word)] if PANICS.contains(&word.to_string().as_str()))
}

/// Tokens without attributes, and without what an attribute keeps for tests.
fn without_tests(tokens: TokenStream) -> Vec<TokenTree> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let Some((attribute, after)) = attribute(&tokens, at) else {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        };
        at = if is_for_tests(&attribute.to_string()) {
            end_of_item(&tokens, after)
        } else {
            after
        };
    }
    kept
}

/// The content of the attribute that begins there, `#[..]` or `#![..]`, and where it ends.
fn attribute(tokens: &[TokenTree], at: usize) -> Option<(TokenStream, usize)> {
    let is =
        |token: &TokenTree, c| matches!(token, TokenTree::Punct(punct) if punct.as_char() == c);
    match &tokens[at..] {
        [hash, TokenTree::Group(group), ..] if is(hash, '#') => Some((group.stream(), at + 2)),
        [hash, bang, TokenTree::Group(group), ..] if is(hash, '#') && is(bang, '!') => {
            Some((group.stream(), at + 3))
        }
        _ => None,
    }
}

/// `test`, `cfg(test)`, `cfg(any(test, feature = "testing"))`, and not `cfg(not(test))`.
fn is_for_tests(attribute: &str) -> bool {
    let mut words = attribute.split(|c: char| !c.is_alphanumeric() && c != '_');
    let has = |word| {
        attribute
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|w| w == word)
    };
    match words.next() {
        Some("test") => true,
        Some("cfg") => has("test") && !has("not"),
        _ => false,
    }
}

/// Where the item ends that begins there: after its body, or its `;` or `,`.
fn end_of_item(tokens: &[TokenTree], mut at: usize) -> usize {
    let is_import = |at: usize| {
        let words = tokens[at..].iter().take(3);
        let mut words = words.filter(|token| !matches!(token, TokenTree::Group(_)));
        words.any(|token| token.to_string() == "use")
    };
    while let Some((_, after)) = attribute(tokens, at) {
        at = after;
    }
    let ends_with_body = at < tokens.len() && !is_import(at);
    while at < tokens.len() {
        let is_end = match &tokens[at] {
            TokenTree::Punct(punct) => matches!(punct.as_char(), ';' | ','),
            TokenTree::Group(group) => ends_with_body && group.delimiter() == Delimiter::Brace,
            _ => false,
        };
        at += 1;
        if is_end {
            break;
        }
    }
    at
}

/// The files that make a crate outside tests, from its `lib.rs` or `main.rs` on.
pub(crate) fn files_of(source: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let roots = [source.join("lib.rs"), source.join("main.rs")];
    let root = roots.into_iter().find(|file| file.exists()).unwrap();
    let mut open = vec![(root, source.to_owned())];
    while let Some((file, below)) = open.pop() {
        let text = fs::read_to_string(&file).unwrap();
        for module in RustCode::of(&text).modules {
            let below = module
                .iter()
                .fold(below.clone(), |path, name| path.join(name));
            let found = [below.with_extension("rs"), below.join("mod.rs")]
                .into_iter()
                .find(|file| file.exists());
            let file = found.unwrap_or_else(|| panic!("{}: no file {module:?}", file.display()));
            open.push((file, below));
        }
        files.push(file);
    }
    files.sort();
    files
}
