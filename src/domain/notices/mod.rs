//! Tells of positions and forgettings: as events, while somebody has subscribed to them.
//!
//! ```text
//! subscriptions ─▶ Followers ─ what is followed ─▶ commits, which leave notices
//!                                                   notices that are due ─▶ Publisher ─▶ event bus
//! ```

mod followers;
mod health;
mod publisher;

pub use followers::{Followers, Reach};
pub use health::NoticeHealth;
pub use publisher::{NoticeListener, Publisher};
