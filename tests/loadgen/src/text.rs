//! The text of a client's frames, written by hand: numbers and fixed words need no serializer.

use super::dice::Dice;
use super::viewer::{Beat, Flag};

/// The length of a film, milliseconds. A viewer at its end starts it again in the same session.
const LENGTH: u64 = 5_400_000;
const KIND: u16 = 1;

/// The names of contents and sessions of a run, unique to it.
#[derive(Clone, Copy, Debug)]
pub struct Names {
    pub run: u64,
    pub mid: u64,
}

impl Names {
    pub fn oid(&self, content: u32) -> u64 {
        (self.run << 20) + u64::from(content)
    }

    pub fn session(&self, content: u32) -> u64 {
        Dice::new(self.mid ^ self.oid(content).rotate_left(32)).roll() | 1
    }
}

/// Writes the frame of one beat.
pub fn write_beat(seq: u32, beat: &Beat, flag: Option<&Flag>, names: &Names, out: &mut Vec<u8>) {
    write_beats(seq, std::slice::from_ref(beat), flag, names, out);
}

/// Writes the frame of these beats.
pub fn write_beats(seq: u32, beats: &[Beat], flag: Option<&Flag>, names: &Names, out: &mut Vec<u8>) {
    out.extend(b"{\"seq\":");
    number(seq.into(), out);
    out.extend(b",\"beats\":{");
    if let Some(flag) = flag {
        out.extend(b"\"flag\":\"");
        out.extend(flag);
        out.extend(b"\",");
    }
    out.extend(b"\"items\":[");
    for (index, beat) in beats.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_item(beat, names, out);
    }
    out.extend(b"]}}");
}

fn write_item(beat: &Beat, names: &Names, out: &mut Vec<u8>) {
    write_content(names.oid(beat.content), out);
    out.extend(b",\"pos\":");
    number(beat.played % LENGTH, out);
    out.extend(b",\"dur\":");
    number(LENGTH, out);
    out.extend(b",\"state\":\"playing\",\"session\":\"");
    number(names.session(beat.content), out);
    out.extend(b"\",\"watched\":");
    // A beat of which nothing was played would be refused.
    number(beat.played.max(1), out);
    out.extend(b",\"at\":");
    number(beat.at, out);
    out.push(b'}');
}

/// Writes the frame that requests these contents.
pub fn write_get(seq: u32, contents: impl Iterator<Item = u32>, names: &Names, out: &mut Vec<u8>) {
    out.extend(b"{\"seq\":");
    number(seq.into(), out);
    out.extend(b",\"get\":{\"items\":[");
    for (index, content) in contents.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write_content(names.oid(content), out);
        out.push(b'}');
    }
    out.extend(b"]}}");
}

/// Writes the frame that requests late acks.
pub fn write_hello(seq: u32, ack_delay_ms: u64, out: &mut Vec<u8>) {
    out.extend(b"{\"seq\":");
    number(seq.into(), out);
    out.extend(b",\"hello\":{\"client\":\"loadgen\",\"ack_delay\":");
    number(ack_delay_ms, out);
    out.extend(b"}}");
}

/// Leaves the object open.
fn write_content(oid: u64, out: &mut Vec<u8>) {
    out.extend(b"{\"kind\":");
    number(KIND.into(), out);
    out.extend(b",\"oid\":\"");
    number(oid, out);
    out.push(b'"');
}

fn number(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use heartline::edge::protocol::frame::{FrameLimits, Operation};
    use heartline::edge::protocol::json;
    use heartline::model::content_name::ContentIds;

    use super::*;

    const LIMITS: FrameLimits = FrameLimits { ids: ContentIds::Number, beats: 500, items: 500, list: 200 };
    const NAMES: Names = Names { run: 1_795_150_000, mid: 42 };

    fn decoded(text: &[u8]) -> Operation {
        json::decode(std::str::from_utf8(text).expect("UTF-8"), &LIMITS).expect("a frame of the protocol").operation
    }

    #[test]
    fn the_decoder_of_the_gateway_reads_the_written_beats() {
        let mut text = Vec::new();
        let beat = Beat { content: 3, played: LENGTH + 7, at: 1_795_150_000_118 };
        write_beat(u32::MAX, &beat, Some(b"2000-01-01"), &NAMES, &mut text);
        let Operation::Beats(beats) = decoded(&text) else { panic!("no beats") };
        assert_eq!(beats.flag, "2000-01-01".parse().ok());
        let item = &beats.items[0];
        assert_eq!((item.content.kind, item.content.oid), (KIND, NAMES.oid(3)));
        assert_eq!((item.pos, item.watched, item.at), (7, Some(LENGTH + 7), beat.at));
        assert_eq!(item.session.0, NAMES.session(3));

        text.clear();
        write_beats(3, &[beat, Beat { content: 4, ..beat }], None, &NAMES, &mut text);
        let Operation::Beats(beats) = decoded(&text) else { panic!("no beats") };
        assert_eq!(beats.items.iter().map(|item| item.content.oid).collect::<Vec<_>>(), [3, 4].map(|n| NAMES.oid(n)));

        text.clear();
        write_hello(1, 30_000, &mut text);
        let Operation::Hello(hello) = decoded(&text) else { panic!("no hello") };
        assert_eq!((hello.ack_delay, hello.token), (Some(30_000), None));

        text.clear();
        write_get(2, 1..=3, &NAMES, &mut text);
        let Operation::Get { contents } = decoded(&text) else { panic!("no get") };
        assert_eq!(contents.iter().map(|content| content.oid).collect::<Vec<_>>(), [1, 2, 3].map(|n| NAMES.oid(n)));
    }
}
