//! The program under test.

use std::path::{Path, PathBuf};

/// The gateway. Cargo says where it is to the tests of its own package only; for others it is beside their own program.
pub fn binary() -> PathBuf {
    let beside = || Some(Path::new(option_env!("CARGO_BIN_EXE_loadgen")?).with_file_name("heartline"));
    option_env!("CARGO_BIN_EXE_heartline").map(PathBuf::from).or_else(beside).expect("a test of this workspace")
}
