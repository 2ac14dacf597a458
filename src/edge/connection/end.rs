//! How a socket ends.

use super::close::CloseReason;
use super::socket::SendError;

#[derive(Debug)]
pub enum End {
    /// The gateway closes it.
    Close(CloseReason),
    /// The client has closed it, with this code.
    ClosedByClient(u16),
    /// The connection is gone.
    Lost,
}

impl From<SendError> for End {
    fn from(unsent: SendError) -> Self {
        match unsent {
            SendError::TooSlow => End::Close(CloseReason::TooSlow),
            SendError::Lost => End::Lost,
        }
    }
}
