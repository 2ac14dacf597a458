//! Views, counted in the database of the records, so that a view by playback is in the batch of its beat.

mod draft;
mod tables;

pub use self::draft::ViewDraft;
pub use self::tables::ViewTables;
