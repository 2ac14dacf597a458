use crate::model::retention::Retention;

/// What is kept of one user, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub retention: Retention,
    pub contents_max: u32,
}
