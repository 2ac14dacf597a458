//! `heartline export`: the records of all users, in the order of their ids.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::progress::{ProgressFile, beside};
use super::record_line::RecordLine;
use super::{ServiceArgs, TransferError, bar};
use crate::cli::gateway;
use crate::config::Config;
use edge::auth::Scopes;
use edge::grpc::client::{CallError, HistoryClient};
use edge::grpc::wire::{ListRequest, User, UsersRequest};

/// Users of one page, after which the export can be resumed.
const USERS: u32 = 1_000;
/// Users that are read at a time.
const IN_FLIGHT: usize = 16;
/// Records of one answer; the service may give fewer.
const RECORDS: u32 = 1_000;

#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The file. It has this name when it is whole, and FILE.part before. Without it, or with -, standard output.
    file: Option<PathBuf>,
    /// Only contents of this kind. May be given several times.
    #[arg(long = "kind", value_name = "KIND")]
    kinds: Vec<u16>,
    #[command(flatten)]
    service: ServiceArgs,
}

impl ExportArgs {
    /// `None`: standard output.
    fn path(&self) -> Option<&Path> {
        self.file.as_deref().filter(|file| *file != Path::new("-"))
    }
}

/// The part of the export that is in the file.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    /// Users up to this one.
    after: Option<u64>,
    bytes: u64,
    users: u64,
    records: u64,
    kinds: Vec<u16>,
}

/// Where lines go.
enum Out {
    Standard(io::Stdout),
    File { part: PathBuf, file: BufWriter<File>, kept: ProgressFile },
}

/// Exports all users, or resumes a killed export. Returns a summary for standard error.
pub fn export(config: &Config, args: &ExportArgs) -> Result<String, TransferError> {
    let (mut out, mut progress) = Out::open(args)?;
    let bar = bar::of_users();
    let ended = gateway::runtime()?.block_on(async {
        let client = args.service.client(config, Scopes { read: true, ..Scopes::default() })?;
        run(&client, &mut out, &mut progress, &bar).await
    });
    bar.finish_and_clear();
    ended?;
    if let Some(path) = args.path() {
        out.finish(path)?;
    }
    Ok(format!("{} records of {} users\n", progress.records, progress.users))
}

async fn run(
    client: &HistoryClient,
    out: &mut Out,
    progress: &mut Progress,
    bar: &ProgressBar,
) -> Result<(), TransferError> {
    let kinds: Vec<u32> = progress.kinds.iter().copied().map(u32::from).collect();
    loop {
        let users = client.users(UsersRequest { after: progress.after, limit: Some(USERS) }).await?.users;
        let is_last = users.len() < USERS as usize;
        let lists = stream::iter(users).map(|user| lines_of(client, user, &kinds)).buffered(IN_FLIGHT);
        let mut lists = std::pin::pin!(lists);
        while let Some((mid, text, records)) = lists.try_next().await? {
            out.write(&text)?;
            progress.after = Some(mid);
            progress.bytes += text.len() as u64;
            progress.users += u64::from(records > 0);
            progress.records += records;
            bar.set_position(progress.users);
            bar.set_message(format!("{} records", progress.records));
        }
        out.keep(progress)?;
        if is_last {
            return Ok(());
        }
    }
}

/// The user's records and how many they are. In the order of their contents: a record that is played meanwhile would move
/// ahead of a page that shows the newest first.
async fn lines_of(client: &HistoryClient, user: User, kinds: &[u32]) -> Result<(u64, Vec<u8>, u64), CallError> {
    let (mut text, mut records, mut cursor) = (Vec::new(), 0, String::new());
    loop {
        let request = ListRequest {
            mid: Some(user.mid),
            limit: Some(RECORDS),
            cursor,
            kinds: kinds.to_vec(),
            by_content: true,
            ..ListRequest::default()
        };
        let page = client.list(request).await?;
        for record in page.records {
            serde_json::to_writer(&mut text, &RecordLine::of(&user, record)).expect("numbers and texts");
            text.push(b'\n');
            records += 1;
        }
        if page.cursor.is_empty() {
            return Ok((user.mid, text, records));
        }
        cursor = page.cursor;
    }
}

impl Out {
    fn open(args: &ExportArgs) -> Result<(Self, Progress), TransferError> {
        let begin = || Progress { kinds: args.kinds.clone(), ..Progress::default() };
        let Some(path) = args.path() else { return Ok((Out::Standard(io::stdout()), begin())) };
        if path.exists() {
            return Err(TransferError::Exists(path.to_owned()));
        }
        let (part, kept) = (beside(path, ".part"), ProgressFile::new(beside(path, ".part.export")));
        let progress = match kept.load::<Progress>()? {
            Some(progress) if progress.kinds == args.kinds && part.exists() => {
                eprintln!("heartline: resuming after {} users", progress.users);
                progress
            }
            _ => begin(),
        };
        let open = || -> io::Result<File> {
            let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(&part)?;
            // Records after the last page that was noted are written again.
            file.set_len(progress.bytes)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|error| TransferError::Write(part.clone(), error))?;
        Ok((Out::File { part, file: BufWriter::with_capacity(1 << 20, file), kept }, progress))
    }

    fn write(&mut self, text: &[u8]) -> Result<(), TransferError> {
        match self {
            Out::Standard(out) => out.write_all(text).map_err(TransferError::Output),
            Out::File { part, file, .. } => {
                file.write_all(text).map_err(|error| TransferError::Write(part.clone(), error))
            }
        }
    }

    /// Syncs the file, and then saves how far it goes.
    fn keep(&mut self, progress: &Progress) -> Result<(), TransferError> {
        match self {
            Out::Standard(out) => out.flush().map_err(TransferError::Output),
            Out::File { part, file, kept } => {
                let flushed = file.flush().and_then(|()| file.get_ref().sync_data());
                flushed.map_err(|error| TransferError::Write(part.clone(), error))?;
                kept.save(progress)
            }
        }
    }

    /// Gives the file its name.
    fn finish(self, path: &Path) -> Result<(), TransferError> {
        let Out::File { part, kept, .. } = self else { return Ok(()) };
        fs::rename(&part, path).map_err(|error| TransferError::Write(path.to_owned(), error))?;
        kept.remove()
    }
}
