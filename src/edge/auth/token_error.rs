//! What is wrong with a token.

/// Why a token is refused. The reasons are fixed words, so that nothing of a token gets into a log or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("{0}")]
    Bad(&'static str),
    /// Nothing but `exp` is wrong: a newer token of the same issuer would do.
    #[error("the token has expired")]
    Expired,
}
