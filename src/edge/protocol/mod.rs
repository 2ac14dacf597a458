//! Bytes to frames and back: protocol v1, pure.
//!
//! - [`frame`]: the frames as values
//! - [`json`]: their JSON, over the socket and as bodies and queries of HTTP
//! - [`whom`]: the user that a call is about
//! - [`cursor`]: the opaque text with which a list goes on
//! - [`unknown_field`]: the error for a field that is not known
//!
//! Nothing here waits, keeps state or knows what becomes of a frame. A codec refuses what cannot be decoded; whether a
//! frame that can be makes sense is judged by the model, and whether it is allowed by the connection.

pub mod cursor;
pub mod frame;
pub mod json;
pub mod unknown_field;
pub mod whom;
