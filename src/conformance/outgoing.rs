//! From the gateway of a user to a socket.

/// Frames on their way to a client. More than any scenario sends at once.
pub const WAITING_MAX: usize = 256;

/// An order of the gateway to a socket.
#[derive(Debug)]
pub enum Outgoing {
    Text(String),
    Ping,
    Close(u16, String),
    /// The connection is gone, without a close frame.
    Cut,
    /// The connection is gone, and the client is not told: nothing is read or written any more.
    Mute,
}
