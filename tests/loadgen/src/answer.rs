//! The answers of the server, as far as a load generator needs them.
//!
//! Nearly every text is a plain ack, which a scan reads; every other text goes through the full parser.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::viewer::Flag;

/// An ack with only a `seq`, and perhaps a flag.
#[derive(Debug, PartialEq, Eq)]
pub struct PlainAck {
    pub seq: u32,
    pub flag: Option<Flag>,
}

pub fn plain_ack(text: &[u8]) -> Option<PlainAck> {
    let (seq, rest) = leading_number(text.strip_prefix(b"{\"ack\":{\"seq\":")?)?;
    if rest == b"}}" {
        return Some(PlainAck { seq, flag: None });
    }
    let (flag, rest) = rest.strip_prefix(b",\"flag\":\"")?.split_first_chunk()?;
    (rest == b"\"}}").then_some(PlainAck { seq, flag: Some(*flag) })
}

/// The `seq` of an echoed frame of this client.
pub fn echoed(text: &[u8]) -> Option<u32> {
    leading_number(text.strip_prefix(b"{\"seq\":")?).map(|(seq, _)| seq)
}

fn leading_number(text: &[u8]) -> Option<(u32, &[u8])> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    std::str::from_utf8(digits).ok()?.parse().ok().map(|number| (number, rest))
}

#[derive(Debug, Default, Deserialize)]
pub struct Said {
    pub welcome: Option<Welcome>,
    pub ack: Option<Ack>,
    pub result: Option<Answered>,
    pub error: Option<Refused>,
    pub push: Option<Push>,
    pub reward: Option<Reward>,
    pub bye: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
pub struct Welcome {
    pub now: u64,
    pub flag: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Ack {
    pub seq: u32,
    pub flag: Option<String>,
    #[serde(default)]
    pub rejected: Vec<Rejection>,
}

#[derive(Debug, Deserialize)]
pub struct Rejection {
    pub seq: u32,
    pub reason: String,
}

#[derive(Debug, Deserialize)]
pub struct Answered {
    pub seq: u32,
    pub records: Option<Vec<Option<Record>>>,
}

/// A record read back.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub session: String,
    pub at: u64,
}

#[derive(Debug, Deserialize)]
pub struct Refused {
    pub seq: Option<u32>,
    pub code: String,
}

#[derive(Debug, Deserialize)]
pub struct Reward {
    pub id: String,
    pub rule: String,
}

#[derive(Debug, Deserialize)]
pub struct Push {
    pub flag: Option<String>,
}

/// `None`: not a frame of this protocol.
pub fn read(text: &[u8]) -> Option<Said> {
    serde_json::from_slice(text).ok()
}

pub fn flag(text: Option<&String>) -> Option<Flag> {
    text?.as_bytes().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_ack_is_read_by_a_scan() {
        assert_eq!(plain_ack(br#"{"ack":{"seq":12}}"#), Some(PlainAck { seq: 12, flag: None }));
        let flagged = plain_ack(br#"{"ack":{"seq":4294967295,"flag":"2026-11-20"}}"#);
        assert_eq!(flagged, Some(PlainAck { seq: u32::MAX, flag: Some(*b"2026-11-20") }));
        assert_eq!(echoed(br#"{"seq":7,"beats":{"items":[]}}"#), Some(7));
    }

    #[test]
    fn any_other_text_is_left_to_the_full_parser() {
        for text in [
            &br#"{"ack":{"seq":}}"#[..],
            br#"{"ack":{"seq":4294967296}}"#,
            br#"{"ack":{"seq":12,"now":1}}"#,
            br#"{"ack":{"seq":12,"flag":"2026"}}"#,
            br#"{"ack":{"seq":12,"rejected":[]}}"#,
            br#"{"error":{"seq":12}}"#,
            b"",
        ] {
            assert_eq!(plain_ack(text), None, "{}", String::from_utf8_lossy(text));
        }
        let text = br#"{"ack":{"seq":2,"rejected":[{"seq":2,"index":0,"reason":"superseded","record":{"kind":1}}]}}"#;
        let ack = read(text).and_then(|said| said.ack).expect("an ack");
        assert_eq!((ack.seq, ack.rejected[0].seq, ack.rejected[0].reason.as_str()), (2, 2, "superseded"));
        let text = br#"{"error":{"seq":3,"code":"invalid","message":"beats: no","retry":false}}"#;
        let error = read(text).and_then(|said| said.error).expect("an error");
        assert_eq!((error.seq, error.code.as_str()), (Some(3), "invalid"));
        let text = br#"{"result":{"seq":3,"records":[{"kind":1,"session":"8311207","at":5},null]}}"#;
        let records = read(text).and_then(|said| said.result?.records).expect("records");
        assert_eq!(records.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
        assert!(read(b"hello").is_none());
    }
}
