//! Why a template is refused.

/// Why a template cannot be read or evaluated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// It is none.
    #[error("{0}")]
    Syntax(String),
    /// There is nothing of this name.
    #[error("`{0}` is not known")]
    Unknown(String),
    /// More is asked of a value that is known only later than it can give.
    #[error("{0} has its value only later")]
    Later(String),
    /// Operands or arguments do not fit.
    #[error("{0}")]
    Unfit(String),
    /// It takes more steps than allowed.
    #[error("takes too long to evaluate")]
    TooLong,
    /// It makes more bytes than allowed.
    #[error("makes too many bytes")]
    TooLarge,
}
