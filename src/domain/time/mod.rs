//! What time it is: the server's [`clock`], and the [`guard`] that says whether it can be trusted. Both get their
//! readings from a [`source`], so that tests can set them.

pub mod clock;
pub mod guard;
pub mod source;
