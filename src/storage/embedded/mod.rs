//! What the embedded backends share: a data directory, databases of [fjall] in folders of it, threads that read them.

pub mod agreed_time;
pub mod data_dir;
pub mod database;
pub mod disk_room;
pub mod disk_usage;
mod fair_queue;
pub mod folder;
pub mod journal;
pub mod open_error;
pub mod readers;
pub mod write_queue;

/// Milliseconds since 1970, by the wall clock or the server's, as the user of it says.
pub type Clock = std::sync::Arc<dyn Fn() -> u64 + Send + Sync>;

/// What fjall's errors say, without their debug form where there is a better one.
pub fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => error.to_string(),
        fjall::Error::Poisoned => String::from("tables cannot be written, as on a full or broken disk"),
        other => format!("{other:?}"),
    }
}
