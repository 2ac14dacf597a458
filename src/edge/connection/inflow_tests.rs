use super::*;

const FINAL: u8 = 0x80;
const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const PING: u8 = 9;

/// A masked frame, as clients send it.
fn frame(first: u8, length: usize) -> Vec<u8> {
    let mut frame = match length {
        0..=125 => vec![first, 0x80 | length as u8],
        126..=0xffff => [&[first, 0x80 | 126][..], &(length as u16).to_be_bytes()].concat(),
        _ => [&[first, 0x80 | 127][..], &(length as u64).to_be_bytes()].concat(),
    };
    frame.resize(frame.len() + 4 + length, 0);
    frame
}

fn frames(parts: &[(u8, usize)]) -> Vec<u8> {
    parts.iter().flat_map(|(first, length)| frame(*first, *length)).collect()
}

/// A client with its inflow_quota.
struct Client {
    inflow: Inflow,
    used: Used,
    allowed: InflowQuota,
}

impl Client {
    fn new(now: Instant) -> Self {
        let allowed = InflowQuota {
            bytes: Quota::new(1_000, 10_000),
            fragments: Quota::new(20, 100),
            message_timeout: Duration::from_secs(30),
        };
        Client { inflow: Inflow::default(), used: Used::new(now), allowed }
    }

    fn count(&mut self, read: &[u8], now: Instant) -> Result<(), LimitExceeded> {
        self.inflow.count(read, &mut self.used, &self.allowed, now)
    }
}

#[test]
fn frames_are_followed_however_the_stream_is_cut() {
    let stream = frames(&[
        (FINAL | TEXT, 0),
        (FINAL | TEXT, 125),
        (FINAL | TEXT, 126),
        (FINAL | TEXT, 70_000),
        (TEXT, 0),
        (FINAL | PING, 5),
        (CONTINUATION, 300),
        (FINAL | CONTINUATION, 0),
    ]);
    for size in [1, 2, 3, 7, 64, 2_048, stream.len()] {
        let (mut walk, mut passed) = (Walk::default(), Passed::default());
        for piece in stream.chunks(size) {
            let went_by = walk.over(piece);
            passed.fragments += went_by.fragments;
            passed.messages += went_by.messages;
        }
        assert_eq!(passed, Passed { fragments: 2, messages: 5 }, "in pieces of {size}");
        assert!(!walk.is_inside());
    }
}

#[test]
fn the_walk_knows_whether_it_is_inside_a_frame_or_message() {
    let whole = frame(FINAL | TEXT, 10);
    for cut in 1..whole.len() {
        let mut walk = Walk::default();
        walk.over(&whole[..cut]);
        assert!(walk.is_inside(), "cut at {cut}");
    }
    let mut walk = Walk::default();
    walk.over(&frames(&[(TEXT, 3), (FINAL | PING, 3)]));
    assert!(walk.is_inside(), "a ping does not end a message");
    walk.over(&frame(FINAL | CONTINUATION, 0));
    assert!(!walk.is_inside());
}

#[test]
fn bytes_that_are_no_frame_do_not_stop_the_walk() {
    let mut walk = Walk::default();
    walk.over(&[0xff; 1_000]);
    walk.over(&[0x83; 1_000]);
}

#[test]
fn empty_fragments_are_counted() {
    let now = Instant::now();
    let mut client = Client::new(now);
    assert_eq!(client.count(&frame(TEXT, 1), now), Ok(()));
    let fragments = (0..200).map(|_| client.count(&frame(CONTINUATION, 0), now));
    assert_eq!(fragments.filter(Result::is_ok).count(), 100 + 20 - 1);
    assert_eq!(client.count(&frame(CONTINUATION, 0), now), Err(LimitExceeded::Fragments));
}

#[test]
fn bytes_above_the_rate_are_refused() {
    let now = Instant::now();
    let mut client = Client::new(now);
    let message = frame(FINAL | TEXT, 992);
    assert_eq!((0..20).filter(|_| client.count(&message, now).is_ok()).count(), 10 + 1);
    let mut client = Client::new(now);
    assert!((0..1_000).all(|second| client.count(&message, now + Duration::from_secs(second)).is_ok()));
}

#[test]
fn a_message_must_end_in_time_whatever_frames_come_between() {
    let start = Instant::now();
    let mut client = Client::new(start);
    assert_eq!(client.count(&frame(TEXT, 1), start), Ok(()));
    for second in 1..=30 {
        let now = start + Duration::from_secs(second);
        assert_eq!(client.count(&frame(FINAL | PING, 0), now), Ok(()), "after {second} s");
    }
    assert_eq!(client.count(&frame(FINAL | PING, 0), start + Duration::from_secs(31)), Err(LimitExceeded::Unfinished));
}

#[test]
fn each_message_has_its_own_time() {
    let start = Instant::now();
    let mut client = Client::new(start);
    for second in (0..300).step_by(20) {
        // The end of one message and the beginning of the next, in one read.
        let read = frames(&[(FINAL | if second == 0 { TEXT } else { CONTINUATION }, 0), (TEXT, 1)]);
        assert_eq!(client.count(&read, start + Duration::from_secs(second)), Ok(()), "after {second} s");
    }
}

#[test]
fn while_the_server_does_not_read_no_clock_runs() {
    let start = Instant::now();
    let mut client = Client::new(start);
    let count =
        |client: &mut Client, second| client.count(&frame(CONTINUATION, 0), start + Duration::from_secs(second));
    assert_eq!(client.count(&frame(TEXT, 1), start), Ok(()));
    client.inflow.stood_still(Duration::from_secs(100));
    client.used.stood_still(Duration::from_secs(100), start + Duration::from_secs(100));
    assert_eq!(count(&mut client, 110), Ok(()));
    assert_eq!(count(&mut client, 140), Err(LimitExceeded::Unfinished));
}
