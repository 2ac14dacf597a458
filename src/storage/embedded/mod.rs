//! What the embedded backends share: a data directory, databases of [fjall] in folders of it, threads that read them.

pub mod data_dir;
pub mod folder;
pub mod open_error;
pub mod readers;

/// What fjall's errors say, without their debug form where there is a better one.
pub fn describe(error: &fjall::Error) -> String {
    match error {
        fjall::Error::Io(error) | fjall::Error::Storage(fjall::LsmError::Io(error)) => error.to_string(),
        fjall::Error::Poisoned => String::from("tables cannot be written, as on a full or broken disk"),
        other => format!("{other:?}"),
    }
}
