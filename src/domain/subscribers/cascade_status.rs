//! Whether a cascade serves the subscribers, by its last look at the event bus.

use std::time::Duration;

/// Three times as long as a cascade takes between two looks that it keeps.
const AWAY_AFTER: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CascadeStatus {
    /// When the event bus was last looked at, milliseconds since 1970; `None`: never.
    pub looked_at: Option<u64>,
    /// The event bus was not looked at for a minute.
    pub is_away: bool,
}

impl CascadeStatus {
    pub(super) fn of(looked_at: Option<u64>, now: u64) -> Self {
        let away_after = AWAY_AFTER.as_millis() as u64;
        CascadeStatus { looked_at, is_away: looked_at.is_none_or(|at| now.saturating_sub(at) > away_after) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cascade_is_away_that_has_not_looked_for_a_minute() {
        let is_away = |looked_at, now| CascadeStatus::of(looked_at, now).is_away;
        assert!(is_away(None, 0), "none has ever looked");
        assert!(!is_away(Some(5), 60_005));
        assert!(is_away(Some(5), 60_006));
        // The clock of the cascade may be ahead.
        assert!(!is_away(Some(6), 5));
    }
}
