//! The threads of a process.

use std::fs;

/// Whether a thread of this name runs, or waits for the disk.
pub fn is_busy(pid: u32, name: &str) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.map(|thread| thread.path()).any(|thread| {
        // One that has just ended has no files.
        let text = |file: &str| fs::read_to_string(thread.join(file)).unwrap_or_default();
        let is_running = |stat: String| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']));
        text("comm").trim() == name && is_running(text("stat"))
    })
}
