//! Bytes that no honest client sends.

use super::super::wire::{self, Opcode};

/// Frames sent at once; the gateway allows a burst of 100 and 20 a second.
const FLOOD: u32 = 1_000;
/// A message may have 128 KiB by the gateway's defaults.
const LONG_BYTES: u64 = 256 * 1024;
const FRAGMENT_BYTES: usize = 32 * 1024;
/// The first byte of a frame that does not end its message.
const BEGINS: u8 = Opcode::Text as u8;
const GOES_ON: u8 = 0;
/// The first byte of a whole text message.
const WHOLE: u8 = 0x80 | Opcode::Text as u8;

/// Frames that are each well formed.
pub fn frames(key: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for seq in 1..=FLOOD {
        let text = format!(r#"{{"seq":{seq},"get":{{"items":[]}}}}"#);
        wire::push(Opcode::Text, text.as_bytes(), key, &mut bytes);
    }
    bytes
}

pub fn pings(key: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    (0..FLOOD).for_each(|_| wire::push(Opcode::Ping, b"", key, &mut bytes));
    bytes
}

pub fn fragments(key: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::push_part(BEGINS, b"{", key, &mut bytes);
    (0..FLOOD).for_each(|_| wire::push_part(GOES_ON, b"", key, &mut bytes));
    bytes
}

/// Three kinds of oversized messages: a frame that announces more than the limit, a frame that announces more than the
/// memory, and a message of fragments that are each short enough.
pub fn oversized(way: u64, key: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let announced = match way % 3 {
        0 => LONG_BYTES,
        1 => 1 << 62,
        _ => {
            let fragment = vec![b' '; FRAGMENT_BYTES];
            for part in 0..LONG_BYTES / FRAGMENT_BYTES as u64 {
                wire::push_part(if part == 0 { BEGINS } else { GOES_ON }, &fragment, key, &mut bytes);
            }
            return bytes;
        }
    };
    wire::push_head(WHOLE, announced, &mut bytes);
    bytes.extend(key.to_ne_bytes());
    bytes.extend([0; FRAGMENT_BYTES]);
    bytes
}

/// Requests with long answers.
pub fn lists(count: u32, limit: u32, first_seq: u32, key: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    for seq in first_seq..first_seq + count {
        let text = format!(r#"{{"seq":{seq},"list":{{"limit":{limit}}}}}"#);
        wire::push(Opcode::Text, text.as_bytes(), key, &mut bytes);
    }
    bytes
}
