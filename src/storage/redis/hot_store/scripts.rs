//! The scripts of `lua/`.

use std::sync::LazyLock;

use ::redis::Script;

use crate::script::script;

pub static COMMIT: LazyLock<Script> = LazyLock::new(|| script(include_str!("lua/commit.lua")));
pub static CALENDAR: LazyLock<Script> = LazyLock::new(|| script(include_str!("lua/calendar.lua")));
