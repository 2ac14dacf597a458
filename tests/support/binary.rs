//! The program under test.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) type Settings = Vec<(String, String)>;

/// The gateway. Cargo says where it is to the tests of its own package only; for others it is beside their own program.
pub fn binary() -> PathBuf {
    let beside = || Some(Path::new(option_env!("CARGO_BIN_EXE_loadgen")?).with_file_name("heartline"));
    option_env!("CARGO_BIN_EXE_heartline").map(PathBuf::from).or_else(beside).expect("a test of this workspace")
}

/// To run it with these settings and no others.
pub(super) fn command(arguments: &[&str], settings: &Settings, home: &Path) -> Command {
    let mut command = Command::new(binary());
    command.args(arguments).current_dir(home).env_clear().envs(wall_clock()).stdin(Stdio::null());
    for (name, value) in settings {
        let name = format!("HEARTLINE__{}", name.to_uppercase().replace('.', "__"));
        command.env(name, value);
    }
    command
}

/// The wall clock of the test, also where `tests/run midnight` sets it.
fn wall_clock() -> impl Iterator<Item = (String, String)> {
    let is_of_clock = |name: &str| matches!(name, "TZ" | "LD_PRELOAD") || name.contains("FAKE");
    env::vars().filter(move |(name, _)| is_of_clock(name))
}
