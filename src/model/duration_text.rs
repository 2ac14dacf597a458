//! Durations as an operator writes them.

use std::time::Duration;

/// In the greatest unit that has no rest, such as `90d`.
pub fn of_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    match units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", ms / unit),
        None => format!("{ms}ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_unit_without_a_rest_is_named() {
        for (ms, text) in [(90 * 86_400_000, "90d"), (90_000, "90s"), (5_400_000, "90m"), (1_500, "1500ms"), (0, "0ms")]
        {
            assert_eq!(of_duration(Duration::from_millis(ms)), text);
        }
    }
}
