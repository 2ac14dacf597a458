//! WebSocket frames (RFC 6455), as far as this client needs them: short and whole, text or control.
//!
//! Written by hand, because a client on the same machine as the measured server must cost little: frames are parsed in
//! the read buffer, and no socket owns a buffer while it waits.

use std::ops::Range;

/// The longest message that this client accepts.
const PAYLOAD_BYTES_MAX: usize = 16 * 1024 * 1024;
const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    Text = 1,
    Close = 8,
    Ping = 9,
    Pong = 10,
}

/// A whole frame in a buffer.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub opcode: Opcode,
    pub payload: Range<usize>,
    /// The start of the next frame.
    pub end: usize,
}

/// Bytes that a server must not send to this client: fragments, masks, reserved bits, binary messages, too long
/// messages.
#[derive(Debug, PartialEq, Eq)]
pub struct Broken;

/// The frame at the start of `bytes`; `None` while it is incomplete.
pub fn parse(bytes: &[u8]) -> Result<Option<Frame>, Broken> {
    let &[first, second, ref rest @ ..] = bytes else { return Ok(None) };
    let opcode = match first {
        0x81 => Opcode::Text,
        0x88 => Opcode::Close,
        0x89 => Opcode::Ping,
        0x8a => Opcode::Pong,
        _ => return Err(Broken),
    };
    let (length, start) = match second {
        0..126 => (usize::from(second), 2),
        126 => match rest.first_chunk() {
            Some(length) => (usize::from(u16::from_be_bytes(*length)), 4),
            None => return Ok(None),
        },
        127 => match rest.first_chunk() {
            Some(length) => (usize::try_from(u64::from_be_bytes(*length)).unwrap_or(usize::MAX), 10),
            None => return Ok(None),
        },
        _ => return Err(Broken),
    };
    if length > PAYLOAD_BYTES_MAX {
        return Err(Broken);
    }
    let end = start + length;
    Ok((bytes.len() >= end).then_some(Frame { opcode, payload: start..end, end }))
}

/// The code of a close frame; 1005 = no code.
pub fn close_code(payload: &[u8]) -> u16 {
    payload.first_chunk().map_or(1005, |code| u16::from_be_bytes(*code))
}

/// Appends a frame, masked with `key` as a client must.
pub fn push(opcode: Opcode, payload: &[u8], key: u32, out: &mut Vec<u8>) {
    push_part(FINAL | opcode as u8, payload, key, out);
}

/// Like `push`, with a given first byte: reserved bits, opcode, and whether the frame ends its message.
pub fn push_part(first: u8, payload: &[u8], key: u32, out: &mut Vec<u8>) {
    push_head(first, payload.len() as u64, out);
    let key = key.to_ne_bytes();
    out.extend(key);
    let start = out.len();
    out.extend(payload);
    let wide = u64::from_ne_bytes([key[0], key[1], key[2], key[3], key[0], key[1], key[2], key[3]]);
    let (whole, tail) = out[start..].as_chunks_mut::<8>();
    for chunk in whole {
        *chunk = (u64::from_ne_bytes(*chunk) ^ wide).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
}

/// The bytes before the key of a frame of this length.
pub fn push_head(first: u8, length: u64, out: &mut Vec<u8>) {
    out.push(first);
    match length {
        0..126 => out.push(MASKED | length as u8),
        126..65_536 => {
            out.push(MASKED | 126);
            out.extend((length as u16).to_be_bytes());
        }
        _ => {
            out.push(MASKED | 127);
            out.extend(length.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_one_after_the_other() {
        let bytes = b"\x81\x02hi\x8a\x00\x88\x02\x03\xe8\x81";
        let text = parse(bytes).expect("well formed").expect("whole");
        assert_eq!((text.opcode, &bytes[text.payload]), (Opcode::Text, &b"hi"[..]));
        let pong = parse(&bytes[text.end..]).expect("well formed").expect("whole");
        assert_eq!((pong.opcode, pong.payload, pong.end), (Opcode::Pong, 2..2, 2));
        let close = parse(&bytes[6..]).expect("well formed").expect("whole");
        assert_eq!((close.opcode, close_code(&bytes[6..][close.payload])), (Opcode::Close, 1000));
        assert_eq!(parse(&bytes[10..]), Ok(None));
        assert_eq!(close_code(b""), 1005);
    }

    #[test]
    fn a_frame_that_is_cut_anywhere_is_incomplete() {
        let mut bytes = vec![0x81, 126, 1, 0];
        bytes.extend([b'x'; 256]);
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut]), Ok(None), "{cut}");
        }
        assert_eq!(parse(&bytes).expect("well formed").expect("whole").payload, 4..260);
        let mut longer = vec![0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0];
        longer.extend([b'x'; 65536]);
        assert_eq!(parse(&longer).expect("well formed").expect("whole").end, 65546);
    }

    #[test]
    fn frames_that_a_server_must_not_send_are_refused() {
        for bytes in
            [&b"\x01\x00"[..], b"\x80\x00", b"\x82\x00", b"\xc1\x00", b"\x81\x80", b"\x81\x7f\xff\0\0\0\0\0\0\0"]
        {
            assert_eq!(parse(bytes), Err(Broken), "{bytes:?}");
        }
    }

    #[test]
    fn a_masked_frame_unmasks_to_its_payload() {
        for length in [0, 1, 7, 8, 9, 125, 126, 300, 65_535, 65_536] {
            let payload: Vec<u8> = (0..length).map(|byte: u32| byte as u8).collect();
            let mut out = Vec::new();
            push(Opcode::Text, &payload, 0x1234_5678, &mut out);
            let head = out.len() - payload.len() - 4;
            assert_eq!(
                head,
                if length < 126 {
                    2
                } else if length < 65_536 {
                    4
                } else {
                    10
                }
            );
            let key: Vec<u8> = out[head..head + 4].to_vec();
            let unmasked: Vec<u8> =
                out[head + 4..].iter().zip(key.iter().cycle()).map(|(byte, key)| byte ^ key).collect();
            assert_eq!(unmasked, payload);
        }
    }
}
