//! The day of the server.

/// The UTC day of a server-clock millisecond, `YYYY-MM-DD`.
pub fn of(now: u64) -> String {
    let moment = i64::try_from(now).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    moment.unwrap_or(jiff::Timestamp::MAX).strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_day_ends_at_midnight() {
        assert_eq!(super::of(1_795_150_000_123), "2026-11-20");
        assert_eq!(super::of(1_795_219_199_999), "2026-11-20");
        assert_eq!(super::of(1_795_219_200_000), "2026-11-21");
    }
}
