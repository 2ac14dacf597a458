use crate::model::retention::Retention;

/// What is kept of one user, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub retention: Retention,
    pub contents_max: u32,
    /// From a user's first change to when it is carried to the history store, milliseconds; `None`: it is not carried.
    pub history_interval: Option<u64>,
}
