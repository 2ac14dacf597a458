//! The processor time of a thread or a process.

use std::fs;

/// Microseconds.
#[derive(Clone, Copy)]
pub struct Cpu {
    pub user: f64,
    pub system: f64,
}

impl Cpu {
    /// Used so far. `of`: a folder of procfs: `self`, `thread-self`, or a process id.
    pub fn read(of: &str) -> Self {
        let text = fs::read_to_string(format!("/proc/{of}/stat")).expect("procfs");
        let fields: Vec<&str> = text.rsplit_once(") ").expect("a name").1.split(' ').collect();
        // Hundredths of a second, whatever the kernel's own tick.
        let micros = |field: usize| fields[field].parse::<f64>().expect("a number") * 10_000.0;
        Cpu { user: micros(11), system: micros(12) }
    }

    pub fn since(self, before: Self) -> Self {
        Cpu { user: self.user - before.user, system: self.system - before.system }
    }

    pub fn total(self) -> f64 {
        self.user + self.system
    }
}
