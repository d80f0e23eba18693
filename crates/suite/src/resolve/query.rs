//! Queries of paths.

use percent_encoding::percent_decode_str;

use super::headers::METHOD_HEADERS;

use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::position::{Located, Scalar};
use crate::template::{LiveText, Piece, Text};

/// Methods that may have a query.
const QUERYING: [&str; 3] = ["GET", "HEAD", "POST"];

impl StepResolver<'_> {
    /// A path with its query, which is not escaped.
    pub(super) fn path_and_query(
        &self,
        method: &str,
        path: &Located<Scalar>,
        query: Option<&Located<Scalar>>,
    ) -> Result<Text, SuiteError> {
        let path = self.path(path)?;
        let Some(query) = query else { return Ok(path) };
        let help = |message: &str| Err(self.file.error(query.position, message));
        if !QUERYING.contains(&method) {
            return help("`query` is for GET, HEAD and POST");
        }
        let pieces = |text: Text| match text {
            Text::Fixed(text) => vec![Piece::Literal(text)],
            Text::Live(live) => live.pieces().to_vec(),
        };
        let text = self.text(query)?;
        if text.has_saved() {
            return help(
                "a query cannot contain what a server said: saved names are for headers and bodies",
            );
        }
        if let Err(why) = check_query(&text.shape()) {
            return help(why);
        }
        Ok(match (path, text) {
            (Text::Fixed(path), Text::Fixed(query)) => Text::Fixed(format!("{path}?{query}")),
            (path, query) => {
                let mark = vec![Piece::Literal("?".to_owned())];
                Text::Live(LiveText::new([pieces(path), mark, pieces(query)].concat()))
            }
        })
    }
}

/// Refuses a query that cannot be sent unchanged.
pub fn check_query(query: &str) -> Result<(), &'static str> {
    let is_fine = |byte: u8| byte.is_ascii_graphic() && !b"#\"<>".contains(&byte);
    if !query.bytes().all(is_fine) {
        return Err("a query is sent as it is: escape blanks and other special characters (%20)");
    }
    let names_a_method = query.split(['&', ';']).any(|pair| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy();
        let name = name.to_ascii_lowercase();
        name == "_method" || METHOD_HEADERS.contains(&name.as_str())
    });
    if names_a_method {
        return Err("a query that names a method makes another request of this one");
    }
    Ok(())
}
