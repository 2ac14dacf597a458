//! The base of the embedded backends: a data directory, databases of [fjall] in folders of it, threads that read them.

pub mod agreed_time;
pub mod data_dir;
pub mod database;
pub mod disk_room;
pub mod disk_usage;
pub mod event_bus;
mod fair_queue;
pub mod folder;
pub mod hot_store;
pub mod journal;
pub mod open_error;
pub mod owner_queues;
pub mod readers;
pub mod write_queue;

/// The message of an error of fjall, without its debug form where there is a better one.
pub fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => error.to_string(),
        fjall::Error::Poisoned => String::from("tables cannot be written, as on a full or broken disk"),
        other => format!("{other:?}"),
    }
}
