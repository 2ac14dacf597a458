//! What a Redis has done, in its order: its append-only file. A script's writes are one transaction there.

use std::fs;
use std::path::Path;

pub type Words = Vec<Vec<u8>>;

/// The transactions, each with its commands.
pub fn read(directory: &Path) -> Vec<Vec<Words>> {
    let folder = directory.join("appendonlydir");
    let names = fs::read_dir(&folder).expect("an append-only file").map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = names.filter(|path| path.to_string_lossy().ends_with(".incr.aof")).collect();
    files.sort();
    let [file] = &files[..] else { panic!("the file was rewritten, and the order is lost: {files:?}") };
    let mut log = Log { bytes: &fs::read(file).unwrap() };
    let (mut transactions, mut open) = (Vec::new(), None);
    while !log.bytes.is_empty() {
        let command = log.command();
        match (&command[0].to_ascii_uppercase()[..], &mut open) {
            (b"MULTI", open) => *open = Some(Vec::new()),
            (b"EXEC", open) => transactions.extend(open.take()),
            (_, Some(commands)) => commands.push(command),
            (_, None) => transactions.push(vec![command]),
        }
    }
    assert!(open.is_none(), "a transaction has no end");
    transactions
}

struct Log<'b> {
    bytes: &'b [u8],
}

impl Log<'_> {
    fn command(&mut self) -> Words {
        let count = self.number(b'*');
        (0..count).map(|_| self.word()).collect()
    }

    fn word(&mut self) -> Vec<u8> {
        let length = self.number(b'$');
        let (word, rest) = self.bytes.split_at(length);
        self.bytes = rest.strip_prefix(b"\r\n").expect("the end of a word");
        word.to_vec()
    }

    fn number(&mut self, sign: u8) -> usize {
        let end = self.bytes.windows(2).position(|window| window == b"\r\n").expect("the end of a line");
        let (line, rest) = self.bytes.split_at(end);
        self.bytes = &rest[2..];
        assert_eq!(line[0], sign, "{:?}", String::from_utf8_lossy(line));
        std::str::from_utf8(&line[1..]).ok().and_then(|digits| digits.parse().ok()).expect("a number")
    }
}
