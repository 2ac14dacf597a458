//! The scripts, put together from the files of `lua/`.

use std::sync::LazyLock;

use ::redis::Script;

macro_rules! lua {
    ($($part:literal),+) => {
        concat!($(include_str!(concat!("lua/", $part, ".lua")), "\n"),+)
    };
}

pub static COMMIT: LazyLock<Script> = LazyLock::new(|| Script::new(&code_of(lua!("deployment", "commit"))));
pub static CALENDAR: LazyLock<Script> = LazyLock::new(|| Script::new(lua!("deployment", "calendar")));

/// Without the lines that are comments.
fn code_of(text: &str) -> String {
    let code = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    code.collect::<Vec<_>>().join("\n")
}
