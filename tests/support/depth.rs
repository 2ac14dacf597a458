//! How long a search goes on.

use std::env;

/// `long` with `tests/run --long`, which sets `LONG`, and where a planted bug has to be found; `short` otherwise.
pub fn depth<T>(short: T, long: T) -> T {
    if env::var_os("LONG").is_some_and(|value| !value.is_empty()) { long } else { short }
}
