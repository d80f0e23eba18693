//! Queries of paths.

use percent_encoding::percent_decode_str;

use super::headers::METHOD_HEADERS;
use super::request::placeholder;
use super::steps::StepResolver;
use crate::error::SuiteError;
use crate::place::{Placed, Scalar};
use crate::template::{LiveText, Piece, Text, Variable};

/// Methods that may have a query.
const QUERYING: [&str; 3] = ["GET", "HEAD", "POST"];

impl StepResolver<'_> {
    /// A path with its query, which is not escaped.
    pub(super) fn path_and_query(
        &self,
        method: &str,
        path: &Placed<Scalar>,
        query: Option<&Placed<Scalar>>,
    ) -> Result<Text, SuiteError> {
        let path = self.path(path)?;
        let Some(query) = query else { return Ok(path) };
        let help = |message: &str| Err(self.file.error(query.place, message));
        if !QUERYING.contains(&method) {
            return help("`query` is for GET, HEAD and POST");
        }
        let pieces = |text: Text| match text {
            Text::Fixed(text) => vec![Piece::Literal(text)],
            Text::Live(live) => live.pieces().to_vec(),
        };
        let text = self.text(query)?;
        if text
            .variables()
            .any(|variable| matches!(variable, Variable::Saved(_)))
        {
            return help(
                "a query cannot contain what a server said: saved names are for headers and bodies",
            );
        }
        let query_pieces = pieces(text);
        let literals: String = query_pieces.iter().map(placeholder).collect();
        if let Err(why) = check_query(&literals) {
            return help(why);
        }
        let mut all = pieces(path);
        all.push(Piece::Literal("?".to_owned()));
        all.extend(query_pieces);
        let fixed: Option<String> = all
            .iter()
            .map(|piece| match piece {
                Piece::Literal(text) => Some(text.as_str()),
                Piece::Variable(_) | Piece::Computed(_) => None,
            })
            .collect();
        Ok(fixed.map_or_else(|| Text::Live(LiveText::new(all)), Text::Fixed))
    }
}

/// Refuses a query that cannot be sent unchanged.
///
/// # Errors
/// The reason.
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
