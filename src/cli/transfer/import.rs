//! `heartline import`: beats made from the lines of a file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use futures_util::stream::{FuturesOrdered, StreamExt};
use indicatif::ProgressBar;
use serde::{Deserialize, Serialize};

use super::batch::{FilePosition, Outcome};
use super::progress::{ProgressFile, beside};
use super::source::{Source, mark};
use super::{ServiceArgs, TransferError, bar};
use crate::cli::gateway;
use crate::config::Config;
use edge::auth::Scopes;
use edge::grpc::client::HistoryClient;

/// Requests at a time: the service commits them in one group.
const IN_FLIGHT: usize = 8;
/// After a kill, the lines since the last save are imported again.
const SAVE_EVERY: Duration = Duration::from_millis(200);
/// Reasons that are counted each for itself.
const REASONS_MAX: usize = 20;

#[derive(Args, Debug)]
pub struct ImportArgs {
    /// The file; `-` for standard input, which cannot be resumed.
    file: PathBuf,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The progress of the import.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Progress {
    read: FilePosition,
    /// The mark of the file before this position.
    mark: String,
    taken: u64,
    changed: u64,
    refused: BTreeMap<String, u64>,
    /// Bytes of the file of refused lines.
    refused_bytes: u64,
}

/// A line that was refused, as it is written beside the file.
#[derive(Serialize)]
struct RefusedLine<'a> {
    line: u64,
    reason: &'a str,
    text: &'a str,
}

struct Import<'a> {
    args: &'a ImportArgs,
    progress: Progress,
    /// `None`: of standard input.
    kept: Option<ProgressFile>,
    saved: Instant,
    refused: Option<File>,
    bar: ProgressBar,
}

/// The result of an import, including the killed ones that it resumed.
pub struct Imported {
    /// For the reader.
    pub text: String,
    /// No line was refused.
    pub is_whole: bool,
}

/// Imports the file, or resumes a killed import.
pub fn import(config: &Config, args: &ImportArgs) -> Result<Imported, TransferError> {
    let scopes = Scopes { write: true, ..Scopes::default() };
    let mut import = Import::begin(args)?;
    let source = Source::open(&args.file, import.progress.read, config.contents.ids)?;
    let began = Instant::now();
    let ended = gateway::runtime()?.block_on(async {
        let client = args.service.client(config, scopes)?;
        import.run(&client, source).await
    });
    import.bar.finish_and_clear();
    import.save()?;
    ended?;
    import.end(began.elapsed())
}

impl<'a> Import<'a> {
    fn begin(args: &'a ImportArgs) -> Result<Self, TransferError> {
        let is_file = args.file != Path::new("-");
        let kept = is_file.then(|| ProgressFile::new(beside(&args.file, ".import")));
        let progress = match &kept {
            Some(kept) => kept.load::<Progress>()?,
            None => None,
        };
        if let (Some(progress), Some(kept)) = (&progress, &kept) {
            if mark(&args.file, progress.read.bytes)? != progress.mark {
                return Err(TransferError::OtherFile(kept.path().to_owned()));
            }
            eprintln!("heartline: resuming after line {}", progress.read.lines);
        }
        let length = || fs::metadata(&args.file).map(|file| file.len()).ok();
        let bar = bar::of_bytes(if is_file { length() } else { None });
        let progress = progress.unwrap_or_default();
        Ok(Import { args, progress, kept, saved: Instant::now(), refused: None, bar })
    }

    async fn run(&mut self, client: &HistoryClient, mut source: Source) -> Result<(), TransferError> {
        let mut in_flight = FuturesOrdered::new();
        let mut ended = false;
        loop {
            while !ended && in_flight.len() < IN_FLIGHT {
                match source.batch()? {
                    Some(batch) => in_flight.push_back(batch.send(client)),
                    None => ended = true,
                }
            }
            let Some(sent) = in_flight.next().await else { return Ok(()) };
            let (outcome, end) = sent?;
            self.note(outcome, end)?;
        }
    }

    fn note(&mut self, outcome: Outcome, end: FilePosition) -> Result<(), TransferError> {
        self.progress.read = end;
        self.progress.taken += outcome.taken;
        self.progress.changed += outcome.changed;
        for refusal in &outcome.refusals {
            let line = RefusedLine { line: refusal.line, reason: &refusal.reason, text: &refusal.text };
            let mut text = serde_json::to_vec(&line).expect("numbers and texts");
            text.push(b'\n');
            self.write_refused(&text)?;
            let known = &mut self.progress.refused;
            let is_new = !known.contains_key(&refusal.reason) && known.len() >= REASONS_MAX;
            let reason = if is_new { "other reasons" } else { &refusal.reason };
            *known.entry(reason.to_owned()).or_default() += 1;
        }
        self.bar.set_position(end.bytes);
        let (lines, refused) = (end.lines, self.refused_lines());
        self.bar.set_message(format!("{lines} lines, {refused} refused"));
        if self.saved.elapsed() >= SAVE_EVERY {
            self.save()?;
        }
        Ok(())
    }

    fn write_refused(&mut self, text: &[u8]) -> Result<(), TransferError> {
        let path = self.refused_path();
        let failed = |error| TransferError::Write(path.clone(), error);
        if self.refused.is_none() {
            self.refused = Some(reopened(&path, self.progress.refused_bytes).map_err(failed)?);
        }
        let file = self.refused.as_mut().expect("it was just opened");
        file.write_all(text).map_err(failed)?;
        self.progress.refused_bytes += text.len() as u64;
        Ok(())
    }

    fn refused_path(&self) -> PathBuf {
        match &self.kept {
            Some(_) => beside(&self.args.file, ".refused"),
            None => "heartline-import.refused".into(),
        }
    }

    fn refused_lines(&self) -> u64 {
        self.progress.refused.values().sum()
    }

    fn save(&mut self) -> Result<(), TransferError> {
        let Some(kept) = &self.kept else { return Ok(()) };
        if self.progress.read == FilePosition::default() {
            return Ok(());
        }
        // Its length is part of the progress.
        if let Some(file) = &self.refused {
            file.sync_data().map_err(|error| TransferError::Write(self.refused_path(), error))?;
        }
        self.progress.mark = mark(&self.args.file, self.progress.read.bytes)?;
        self.saved = Instant::now();
        kept.save(&self.progress)
    }

    /// All was read.
    fn end(&self, took: Duration) -> Result<Imported, TransferError> {
        if let Some(kept) = &self.kept {
            kept.remove()?;
        }
        let Progress { read, taken, changed, refused, .. } = &self.progress;
        let mut text = format!(
            "{} lines in {:.1} s: {taken} records are there, {changed} of them new or changed; {} refused\n",
            read.lines,
            took.as_secs_f64(),
            self.refused_lines()
        );
        for (reason, lines) in refused {
            let _ = writeln!(text, "  {lines} refused: {reason}");
        }
        if !refused.is_empty() {
            let _ = writeln!(text, "refused lines are in {}", self.refused_path().display());
        }
        Ok(Imported { text, is_whole: refused.is_empty() })
    }
}

/// Cuts off the refused lines that a killed import has written after its last save: they are written again.
fn reopened(path: &Path, bytes: u64) -> io::Result<File> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.set_len(bytes)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}
