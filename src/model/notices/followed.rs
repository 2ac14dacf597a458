//! Which of these events anybody has subscribed to.

/// The events that are followed. Others leave no notices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Followed {
    pub positions: bool,
    pub forgotten: bool,
}

impl Followed {
    pub const NONE: Self = Followed { positions: false, forgotten: false };
    pub const ALL: Self = Followed { positions: true, forgotten: true };

    pub fn any(self) -> bool {
        self.positions || self.forgotten
    }

    /// Followed by one or the other.
    pub fn or(self, other: Followed) -> Self {
        Followed { positions: self.positions || other.positions, forgotten: self.forgotten || other.forgotten }
    }

    /// Whether all of `other` is followed.
    pub fn has(self, other: Followed) -> bool {
        self.or(other) == self
    }
}
