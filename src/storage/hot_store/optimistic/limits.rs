use model::retention::Retention;

/// The limits for one user.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub retention: Retention,
    pub contents_max: u32,
    /// The time from a user's first change until it is carried to the history store, milliseconds; `None`: not carried.
    pub history_interval: Option<u64>,
    /// The store was lost and rebuilt: a user without a head may have data in the history store.
    pub is_rebuilt: bool,
}
