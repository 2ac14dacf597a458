//! A client frame from its text.

use super::envelope::{Envelope, Outline};
use super::fault::Fault;
use crate::protocol::frame::{ClientFrame, DecodeError, FrameLimits};

/// Decodes one frame. Nothing of a malformed one is applied.
pub fn decode(text: &str, limits: &FrameLimits) -> Result<ClientFrame, DecodeError> {
    let Ok(Envelope { seq, shape }) = Envelope::read(text, limits.ids) else {
        return decode_slowly(text, limits);
    };
    match shape.operation(limits) {
        Ok(operation) => Ok(ClientFrame { seq, operation }),
        // A frame over the limits is no `hello`; that has none.
        Err(fault) => Err(fault.malformed(Some(seq), false)),
    }
}

/// The same, reading the parts one by one, so that the error can be named and the `seq` is found anywhere in the frame.
pub(super) fn decode_slowly(text: &str, limits: &FrameLimits) -> Result<ClientFrame, DecodeError> {
    let outline: Outline = serde_json::from_str(text).map_err(|error| {
        let complaint = if error.is_data() { "is not a JSON object" } else { "is not JSON" };
        Fault::invalid("frame", complaint).malformed(None, false)
    })?;
    let seq = outline.seq();
    let readable = seq.as_ref().ok().copied();
    // When both are wrong the `seq` is told first: without it the client cannot tell which frame is meant.
    let frame = seq.and_then(|seq| {
        let operation = outline.shape(limits.ids)?.operation(limits)?;
        Ok(ClientFrame { seq, operation })
    });
    frame.map_err(|fault| fault.malformed(readable, outline.hello))
}
