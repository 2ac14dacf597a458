//! The faults of tokens.

use std::fmt;

/// Why a token is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    TooLong,
    /// Not three parts in base64url, or without an object of claims.
    Malformed,
    CriticalHeaders,
    Algorithm,
    UnknownKid,
    Signature,
    Audience,
    Issuer,
    SubNotString,
    SubNotNumber,
    SubNotName,
    NbfNotNumber,
    NotYetValid,
    NoExp,
    ExpNotNumber,
    ExpInMilliseconds,
    NoIat,
    LifeTooLong,
    /// It is for services, and was shown as the token of a user.
    OfService,
    /// A service's token is revoked. A user's revoked token is told apart from bad ones instead.
    Revoked,
    /// Nothing but `exp` is wrong: a newer token of the same issuer would do.
    Expired,
}

impl TokenError {
    pub const ALL: [TokenError; 21] = [
        TokenError::TooLong,
        TokenError::Malformed,
        TokenError::CriticalHeaders,
        TokenError::Algorithm,
        TokenError::UnknownKid,
        TokenError::Signature,
        TokenError::Audience,
        TokenError::Issuer,
        TokenError::SubNotString,
        TokenError::SubNotNumber,
        TokenError::SubNotName,
        TokenError::NbfNotNumber,
        TokenError::NotYetValid,
        TokenError::NoExp,
        TokenError::ExpNotNumber,
        TokenError::ExpInMilliseconds,
        TokenError::NoIat,
        TokenError::LifeTooLong,
        TokenError::OfService,
        TokenError::Revoked,
        TokenError::Expired,
    ];

    /// A name for metrics and logs.
    pub fn word(self) -> &'static str {
        match self {
            TokenError::TooLong => "too_long",
            TokenError::Malformed => "malformed",
            TokenError::CriticalHeaders => "critical_headers",
            TokenError::Algorithm => "algorithm",
            TokenError::UnknownKid => "unknown_kid",
            TokenError::Signature => "signature",
            TokenError::Audience => "audience",
            TokenError::Issuer => "issuer",
            TokenError::SubNotString => "sub_not_string",
            TokenError::SubNotNumber => "sub_not_number",
            TokenError::SubNotName => "sub_not_name",
            TokenError::NbfNotNumber => "nbf_not_number",
            TokenError::NotYetValid => "not_yet_valid",
            TokenError::NoExp => "no_exp",
            TokenError::ExpNotNumber => "exp_not_number",
            TokenError::ExpInMilliseconds => "exp_in_milliseconds",
            TokenError::NoIat => "no_iat",
            TokenError::LifeTooLong => "life_too_long",
            TokenError::OfService => "of_service",
            TokenError::Revoked => "revoked",
            TokenError::Expired => "expired",
        }
    }

    /// As the client is told, over HTTP and in a close frame: fixed words, so that nothing of a token gets into a log
    /// or an answer.
    pub fn cause(self) -> &'static str {
        match self {
            TokenError::TooLong => "the token is longer than 4096 bytes",
            TokenError::Malformed => "malformed token",
            TokenError::CriticalHeaders => "the token has critical headers",
            TokenError::Algorithm => "algorithm not allowed",
            TokenError::UnknownKid => "kid unknown",
            TokenError::Signature => "bad signature",
            TokenError::Audience => "aud is not the audience of this gateway",
            TokenError::Issuer => "iss is not the issuer of this gateway",
            TokenError::SubNotString => "sub is not a string",
            TokenError::SubNotNumber => "sub is not a decimal number",
            TokenError::SubNotName => "sub is not from 1 to 256 bytes long, or has control characters",
            TokenError::NbfNotNumber => "nbf is not a number",
            TokenError::NotYetValid => "the token is not valid yet",
            TokenError::NoExp => "the token has no exp",
            TokenError::ExpNotNumber => "exp is not a number",
            TokenError::ExpInMilliseconds => "exp is in milliseconds, and must be in seconds",
            TokenError::NoIat => "the token has no iat, or one in the future",
            TokenError::LifeTooLong => "the token lives for longer than auth.token_life_max",
            TokenError::OfService => "the token is one of a service",
            TokenError::Revoked => "the token is revoked",
            TokenError::Expired => "expired",
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.cause())
    }
}

impl std::error::Error for TokenError {}
