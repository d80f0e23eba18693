//! Errors of templates.

/// A template cannot be read or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The text is no template.
    #[error("{0}")]
    Syntax(String),
    /// The name is unknown.
    #[error("`{0}` is not known")]
    Unknown(String),
    /// An operation needs a value that is known only later.
    #[error("{0} has its value only later")]
    Later(String),
    /// Operands or arguments do not fit.
    #[error("{0}")]
    Unfit(String),
    /// The evaluation takes more steps than allowed.
    #[error("takes too long to evaluate")]
    TooLong,
    /// The result has more bytes than allowed.
    #[error("makes too many bytes")]
    TooLarge,
}
