//! Notices: what is still to be told of users' positions.
//!
//! ```text
//! change, outcome ─▶ Notice, stored in the change's own step ─▶ event, made when the notice is due
//! ```
//!
//! A notice of a position says only that there is something to tell: the event is made from the record as it is then. So
//! of many beats within [`Notice::STEADY`] the newest is told, and a record that is gone is not told at all. A notice of
//! a forgetting has all that its event says, since nothing else is kept of what was forgotten.

mod events;
mod followed;
mod notice;

pub use events::{FORGOTTEN, POSITION, position_event};
pub use followed::Followed;
pub use notice::{Forgotten, ForgottenCause, Notice, Noticed, noticed};
