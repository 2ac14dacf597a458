//! The progress bar, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// The time left changes while nothing else does.
const DRAW_EVERY: Duration = Duration::from_secs(1);

/// `total`: in bytes; `None` if it is not known.
pub fn of_bytes(total: Option<u64>) -> ProgressBar {
    match total {
        Some(total) => styled(ProgressBar::new(total), "{bar:30} {percent}% of {total_bytes}, {msg}, {eta} left"),
        None => styled(ProgressBar::no_length(), "{spinner} {bytes}, {msg}"),
    }
}

/// An export does not know how many users there are.
pub fn of_users() -> ProgressBar {
    styled(ProgressBar::no_length(), "{spinner} {pos} users, {msg}, {elapsed}")
}

fn styled(bar: ProgressBar, template: &str) -> ProgressBar {
    bar.set_style(ProgressStyle::with_template(template).expect("a template of this file, as a test shows"));
    bar.enable_steady_tick(DRAW_EVERY);
    bar
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_templates_are_read() {
        for bar in [super::of_bytes(Some(7)), super::of_bytes(None), super::of_users()] {
            bar.finish_and_clear();
        }
    }
}
