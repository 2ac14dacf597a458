/// What is kept of one user, and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Milliseconds.
    pub retention_ms: u64,
    pub contents_max: u32,
}

impl Limits {
    /// What is older has expired, milliseconds.
    pub fn horizon(&self, now: u64) -> u64 {
        now.saturating_sub(self.retention_ms)
    }

    /// When what is known by this moment has expired, milliseconds.
    pub fn expires(&self, at: u64) -> u64 {
        at.saturating_add(self.retention_ms).saturating_add(1)
    }
}
