//! Which program this is.

pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Set `HEARTLINE_BUILD_COMMIT` in the environment of the build: the sources may come without a repository.
pub const COMMIT: &str = match option_env!("HEARTLINE_BUILD_COMMIT") {
    Some(commit) => commit,
    None => "unknown",
};
