//! A directory that is removed when its owner is dropped.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::dice::Dice;
use super::target::wall_ms;

static MADE: AtomicU64 = AtomicU64::new(0);

pub struct Scratch(PathBuf);

impl Scratch {
    pub fn make() -> Result<Self, String> {
        // Several directories may be made within a millisecond.
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = Dice::new(wall_ms() ^ u64::from(std::process::id()) << 42).roll() ^ number;
        let path = std::env::temp_dir().join(format!("loadgen-{name:016x}"));
        fs::create_dir(&path).map_err(|error| format!("{} cannot be made: {error}", path.display()))?;
        Ok(Scratch(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            eprintln!("loadgen: {} cannot be removed: {error}", self.0.display());
        }
    }
}
