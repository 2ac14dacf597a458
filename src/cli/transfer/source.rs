//! The file of an import, read as batches.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use siphasher::sip::SipHasher24;

use super::TransferError;
use super::batch::{Batch, FilePosition};
use super::record_line::RecordLine;
use model::content_name::ContentIds;

/// Bytes of a line. A record takes some 200.
const LINE_BYTES_MAX: u64 = 64 << 10;
/// The byte order mark of UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Bytes before a position that tell this file from another one.
const MARK_BYTES: u64 = 64 << 10;

pub struct Source {
    path: PathBuf,
    reader: Box<dyn BufRead>,
    /// After the last line that is in a batch, or held.
    read: FilePosition,
    /// A line for which the last batch had no room.
    held: Option<(RecordLine, String)>,
    /// How the deployment names contents.
    ids: ContentIds,
}

enum Line {
    Blank,
    Good(RecordLine, String),
    Bad { reason: String, text: String },
}

impl Source {
    /// `after`: the line to begin after. `-` is standard input, which is read from its start.
    pub fn open(path: &Path, after: FilePosition, ids: ContentIds) -> Result<Self, TransferError> {
        let reader: Box<dyn BufRead> = if path == Path::new("-") {
            Box::new(BufReader::new(io::stdin()))
        } else {
            let open = || -> io::Result<File> {
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(after.bytes))?;
                Ok(file)
            };
            Box::new(BufReader::with_capacity(1 << 20, open().map_err(|error| unreadable(path, error))?))
        };
        Ok(Source { path: path.to_owned(), reader, read: after, held: None, ids })
    }

    /// `None`: there are no more lines.
    pub fn batch(&mut self) -> Result<Option<Batch>, TransferError> {
        let mut batch = Batch::default();
        let mut is_empty = true;
        if let Some((record, text)) = self.held.take() {
            batch.add(&record, self.read.lines, text);
            is_empty = false;
        }
        batch.end = self.read;
        while !batch.is_full() {
            let line = match self.line() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => return Err(unreadable(&self.path, error)),
            };
            is_empty = false;
            match line {
                Line::Blank => {}
                Line::Bad { reason, text } => batch.refuse(self.read.lines, reason, text),
                Line::Good(record, text) if batch.has_room_for(&record) => batch.add(&record, self.read.lines, text),
                Line::Good(record, text) => {
                    self.held = Some((record, text));
                    return Ok(Some(batch));
                }
            }
            batch.end = self.read;
        }
        Ok((!is_empty).then_some(batch))
    }

    /// `None` at the end.
    fn line(&mut self) -> io::Result<Option<Line>> {
        let mut bytes = Vec::new();
        let taken = self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)?;
        if taken == 0 {
            return Ok(None);
        }
        // Spreadsheets and Windows put it before the first line.
        if self.read.bytes == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        self.read.lines += 1;
        self.read.bytes += taken as u64;
        let is_cut = taken as u64 == LINE_BYTES_MAX && bytes.last() != Some(&b'\n');
        if is_cut {
            self.read.bytes += self.reader.skip_until(b'\n')? as u64;
        }
        let text = String::from_utf8_lossy(&bytes).trim().to_owned();
        Ok(Some(match RecordLine::read(&bytes, self.ids) {
            _ if text.is_empty() => Line::Blank,
            _ if is_cut => {
                let start = text.chars().take(200).collect();
                Line::Bad { reason: format!("longer than {LINE_BYTES_MAX} bytes"), text: start }
            }
            Ok(record) => Line::Good(record, text),
            Err(reason) => Line::Bad { reason, text },
        }))
    }
}

/// A hash of the last bytes before `at`. If it differs, the file is not the one whose import began.
pub fn mark(path: &Path, at: u64) -> Result<String, TransferError> {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let from = at.saturating_sub(MARK_BYTES);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(at - from).read_to_end(&mut bytes)?;
        let mut hasher = SipHasher24::new();
        hasher.write(&bytes);
        Ok(format!("{:016x}", hasher.finish()))
    };
    read().map_err(|error| unreadable(path, error))
}

fn unreadable(path: &Path, error: io::Error) -> TransferError {
    TransferError::Read(path.to_owned(), error)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn line(mid: u64, oid: u64) -> String {
        format!("{{\"mid\":{mid},\"kind\":1,\"oid\":{oid},\"pos\":1,\"at\":2}}\n")
    }

    #[test]
    fn a_file_is_read_in_batches_and_again_from_the_end_of_any() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text: String = (0..1_200).map(|oid| line(7, oid)).chain((0..900).map(|mid| line(mid + 10, 1))).collect();
        fs::write(file.path(), &text).expect("written");
        let ends = |after| {
            let mut source = Source::open(file.path(), after, ContentIds::Number).expect("opened");
            std::iter::from_fn(|| source.batch().expect("read").map(|batch| batch.end)).collect::<Vec<_>>()
        };
        let all = ends(FilePosition::default());
        assert_eq!(all.iter().map(|end| end.lines).collect::<Vec<_>>(), [500, 1_000, 2_000, 2_100]);
        assert_eq!(all.last().map(|end| end.bytes), Some(text.len() as u64));
        assert_eq!(ends(all[1]), all[2..]);
        assert_eq!(ends(all[3]), []);
    }

    #[test]
    fn what_is_no_record_is_refused_with_its_reason() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let long = "x".repeat(100_000);
        fs::write(file.path(), [b"{}\n\n\xff\n", long.as_bytes(), b"\n", line(7, 1).as_bytes()].concat())
            .expect("written");
        let mut source = Source::open(file.path(), FilePosition::default(), ContentIds::Number).expect("opened");
        let batch = source.batch().expect("read").expect("a batch");
        let refused: Vec<_> = batch.refusals().iter().map(|refusal| (refusal.line, refusal.reason.as_str())).collect();
        let reasons = ["kind: is missing", "is not UTF-8", "longer than 65536 bytes"];
        assert_eq!(refused, [(1, reasons[0]), (3, reasons[1]), (4, reasons[2])]);
        assert_eq!(batch.end.lines, 5);
        assert!(source.batch().expect("read").is_none());
    }

    #[test]
    fn a_byte_order_mark_before_the_first_line_is_no_part_of_it() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let text = [BYTE_ORDER_MARK, line(7, 1).as_bytes(), BYTE_ORDER_MARK, line(7, 2).as_bytes()].concat();
        fs::write(file.path(), &text).expect("written");
        let batch = Source::open(file.path(), FilePosition::default(), ContentIds::Number)
            .expect("opened")
            .batch()
            .expect("read")
            .expect("a batch");
        let refused: Vec<_> = batch.refusals().iter().map(|refusal| refusal.line).collect();
        assert_eq!((refused, batch.end), (vec![2], FilePosition { lines: 2, bytes: text.len() as u64 }));
    }

    #[test]
    fn another_file_has_another_mark() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        fs::write(file.path(), "abcdef").expect("written");
        let first = mark(file.path(), 3).expect("a mark");
        fs::write(file.path(), "abcxyz, and more").expect("written");
        assert_eq!(mark(file.path(), 3).expect("a mark"), first);
        assert_ne!(mark(file.path(), 6).expect("a mark"), first);
    }
}
