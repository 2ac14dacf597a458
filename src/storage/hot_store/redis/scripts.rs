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
pub static LOCK: LazyLock<Script> = LazyLock::new(|| Script::new(lua!("deployment", "lock")));
pub static LOOK: LazyLock<Script> = LazyLock::new(|| Script::new(lua!("deployment", "look")));
pub static REMOVE: LazyLock<Script> = LazyLock::new(|| Script::new(lua!("deployment", "remove")));

/// Sent as a whole with every question: a read waits behind no commit, and so cannot be asked of those who load scripts.
pub static LIST: LazyLock<String> = LazyLock::new(|| code_of(lua!("deployment", "list")));

/// Without the lines that are comments.
fn code_of(text: &str) -> String {
    let code = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("--"));
    code.collect::<Vec<_>>().join("\n")
}
