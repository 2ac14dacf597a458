use std::sync::mpsc::{self, Receiver, SyncSender};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);
/// Each line is a write of its own.
const LENGTH: usize = WRITE_BYTES_MAX;
const ROOM: usize = 10;

/// The other end, which reads one write at a time; the writer waits for it.
struct Pipe(SyncSender<Vec<u8>>);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(bytes.to_vec()).map_err(|_| ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A log whose first line is being written and not read, and what it says when it goes on.
struct Scene {
    log: LogWriter,
    reader: Receiver<Vec<u8>>,
    resumed: Receiver<u64>,
}

impl Scene {
    fn new() -> Self {
        let (writer, reader) = mpsc::sync_channel(0);
        let (sender, resumed) = mpsc::sync_channel(8);
        let resume = move |missing| sender.try_send(missing).expect("room");
        let log = LogWriter::with_room(ROOM * (LENGTH + LINE_BYTES), Pipe(writer), resume).expect("a thread");
        let scene = Scene { log, reader, resumed };
        scene.push("first");
        while !scene.log.shared.queue.lock().lines.is_empty() {
            thread::yield_now();
        }
        scene
    }

    fn push(&self, line: &str) {
        self.log.shared.push(padded(line).as_bytes(), false);
    }

    fn fill(&self) {
        (1..=ROOM).for_each(|number| self.push(&number.to_string()));
    }

    fn dropped(&self) -> u64 {
        self.log.shared.dropped.get()
    }

    fn read(&self) -> String {
        let line = self.reader.recv_timeout(PATIENCE).expect("a line");
        String::from_utf8(line).expect("UTF-8").trim_matches(['.', '\n']).to_owned()
    }
}

fn padded(line: &str) -> String {
    format!("{line:.>length$}\n", length = LENGTH - 1)
}

#[test]
fn lines_are_written_in_their_order() {
    let scene = Scene::new();
    scene.fill();
    assert_eq!(scene.read(), "first");
    for number in 1..=ROOM {
        assert_eq!(scene.read(), number.to_string());
    }
    scene.log.flush(PATIENCE);
    assert_eq!(scene.dropped(), 0);
    assert!(scene.resumed.try_recv().is_err(), "nothing is missing");
}

#[test]
fn short_lines_share_a_write() {
    let scene = Scene::new();
    for line in ["a\n", "b\n", "c\n"] {
        scene.log.error(line);
    }
    assert_eq!((scene.read().as_str(), scene.read().as_str()), ("first", "a\nb\nc"));
}

#[test]
fn a_full_queue_drops_and_counts_and_says_so_when_half_of_it_is_written() {
    let scene = Scene::new();
    scene.fill();
    assert_eq!((scene.dropped(), scene.log.is_dropping()), (0, false));
    for _ in 0..7 {
        scene.push("lost");
    }
    assert_eq!((scene.dropped(), scene.log.is_dropping()), (7, true));
    assert_eq!(scene.read(), "first");
    assert_eq!(scene.read(), "1");
    scene.push("also lost");
    assert!(scene.resumed.try_recv().is_err(), "not yet");
    for number in 2..=ROOM {
        assert_eq!(scene.read(), number.to_string());
    }
    assert_eq!(scene.resumed.recv_timeout(PATIENCE), Ok(8));
    scene.push("further");
    assert_eq!(scene.read(), "further");
    assert_eq!((scene.dropped(), scene.log.is_dropping()), (8, false));
    assert!(scene.resumed.try_recv().is_err(), "once");
}

#[test]
fn errors_have_room_of_their_own_and_that_has_an_end() {
    let scene = Scene::new();
    scene.fill();
    scene.push("lost");
    scene.log.error(&padded("an error"));
    assert_eq!(scene.dropped(), 1);
    let errors = 2 * ERROR_BYTES_MAX / LENGTH;
    for _ in 0..errors {
        scene.log.error(&padded("another"));
    }
    assert!(scene.dropped() > errors as u64 / 2);
    (0..=ROOM).for_each(|_| drop(scene.read()));
    assert_eq!(scene.read(), "an error");
}

#[test]
fn a_flush_waits_for_the_reader_but_not_for_ever() {
    let scene = Scene::new();
    scene.push("last");
    let began = Instant::now();
    scene.log.flush(Duration::from_millis(20));
    assert!(began.elapsed() >= Duration::from_millis(20));
    let log = scene.log.clone();
    let flushed = thread::spawn(move || log.flush(PATIENCE));
    assert_eq!(scene.read(), "first");
    assert!(!flushed.is_finished(), "one is left");
    assert_eq!(scene.read(), "last");
    flushed.join().expect("no panic");
}

#[test]
fn a_closed_pipe_loses_lines_and_stops_nothing() {
    let Scene { log, reader, resumed } = Scene::new();
    drop(reader);
    for _ in 0..5 * ROOM {
        log.shared.push(padded("lost").as_bytes(), false);
    }
    log.flush(PATIENCE);
    assert_eq!(log.shared.dropped.get(), 5 * ROOM as u64 + 1);
    assert!(!log.is_dropping());
    assert!(resumed.try_recv().is_err(), "it does not go on");
}

#[test]
fn a_line_longer_than_the_queue_is_written() {
    let scene = Scene::new();
    let long = "x".repeat(2 * ROOM * LENGTH);
    scene.log.shared.push(long.as_bytes(), false);
    assert_eq!(scene.read(), "first");
    assert_eq!(scene.read(), long);
    assert_eq!(scene.dropped(), 0);
}
