//! Views of contents, as they are counted.

use super::ids::{Content, SessionId, UserId};
use super::rewards::day::Day;

/// A view that was asked to be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    pub user: UserId,
    pub content: Content,
    /// A session counts once today and yesterday together; without one, each request counts.
    pub session: Option<SessionId>,
    /// The day of the reward zone to which it belongs.
    pub day: Day,
}

/// The result of counting a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewed {
    /// False: its session was counted before, or the content is counted by playback.
    pub counted: bool,
    /// All views of the content, this one included; `None`: not known just now.
    pub total: Option<u64>,
}

/// The views of a content by day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ViewDays {
    /// The views of all time.
    pub total: u64,
    /// Days with views, in their order.
    pub days: Vec<(Day, u64)>,
}
