//! The server [`clock`], and the [`guard`] that checks whether it can be trusted. Both get their readings from a
//! [`source`], so that tests can set them.

pub mod clock;
pub mod guard;
pub mod source;
