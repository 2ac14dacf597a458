//! Why a Redis is not used, and how to mend it.

use std::io;

/// Of the start. Several lines if several things are wrong, each with what mends it.
#[derive(Debug, thiserror::Error)]
pub enum RedisRefused {
    #[error("redis.url {0}")]
    Url(String),
    #[error("{0}; start it, or set redis.url to one that runs")]
    Unreachable(String),
    #[error("{}", .0.join("\n"))]
    Unfit(Vec<String>),
    #[error("the thread of the connections to Redis cannot be started: {0}")]
    Process(io::Error),
}

impl RedisRefused {
    /// Of sysexits.h.
    pub fn exit_code(&self) -> u8 {
        match self {
            RedisRefused::Url(_) | RedisRefused::Unfit(_) => 78,
            RedisRefused::Unreachable(_) => 69,
            RedisRefused::Process(_) => 71,
        }
    }
}

/// Why there is no connection just now.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Trouble {
    /// It may pass by itself.
    Away(String),
    /// Somebody has to mend it.
    Unfit(Vec<String>),
}

impl Trouble {
    pub fn unfit(line: impl Into<String>) -> Self {
        Trouble::Unfit(vec![line.into()])
    }

    pub fn text(&self) -> String {
        match self {
            Trouble::Away(text) => text.clone(),
            Trouble::Unfit(lines) => lines.join("; "),
        }
    }
}

impl From<Trouble> for RedisRefused {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Away(text) => RedisRefused::Unreachable(text),
            Trouble::Unfit(lines) => RedisRefused::Unfit(lines),
        }
    }
}
