//! `heartline conformance`: tests a client against a gateway that misbehaves.
//!
//! The report goes to standard output, or to a file; all else to standard error.

use std::fs;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use conformance::report::{Counts, Report};
use conformance::scenarios;
use conformance::selection::{Selection, UnknownRule};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

#[derive(Args, Debug)]
pub struct ConformanceArgs {
    /// Where the gateway and the instructions are served. Port 0 takes any free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7799")]
    listen: SocketAddr,
    /// The form of the report.
    #[arg(long, value_enum, default_value_t)]
    report: Form,
    /// Write the report to this file instead of standard output.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Try these rules only.
    #[arg(long, value_name = "RULE", num_args = 1..)]
    only: Vec<String>,
    /// Leave these rules out.
    #[arg(long, value_name = "RULE", num_args = 1..)]
    skip: Vec<String>,
    /// Repeat a run: users, contents, positions and clocks follow from it.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Print the rules, with scenario and section, and do nothing else.
    #[arg(long)]
    list: bool,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Form {
    #[default]
    Text,
    Junit,
}

#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    #[error("there is no rule {0}; --list prints all")]
    UnknownRule(String),
    #[error("cannot listen on {0}: {1}")]
    Listen(SocketAddr, io::Error),
    #[error("cannot write the report: {0}")]
    Output(io::Error),
    #[error("the client does not pass: {failed} rules failed, {not_tried} were not tried", failed = .0.failed, not_tried = .0.not_tried)]
    NotPassed(Counts),
}

impl ConformanceError {
    pub fn exit_code(&self) -> u8 {
        match self {
            ConformanceError::NotPassed(_) => 1,
            ConformanceError::UnknownRule(_) => 2,
            ConformanceError::Listen(..) => 69,
            ConformanceError::Output(_) => 74,
        }
    }
}

pub fn run(args: &ConformanceArgs) -> Result<(), ConformanceError> {
    let selection = Selection::new(&args.only, &args.skip);
    let selection = selection.map_err(|UnknownRule(name)| ConformanceError::UnknownRule(name))?;
    if args.list {
        return write(None, &list(&selection));
    }
    let runtime = Builder::new_current_thread().enable_all().build();
    let listen_error = |error| ConformanceError::Listen(args.listen, error);
    let report = runtime.and_then(|runtime| runtime.block_on(judge(args, selection))).map_err(listen_error)?;
    let text = match args.report {
        Form::Text => report.text(),
        Form::Junit => report.junit(),
    };
    write(args.output.as_ref(), &text)?;
    if report.is_good() { Ok(()) } else { Err(ConformanceError::NotPassed(report.counts())) }
}

async fn judge(args: &ConformanceArgs, selection: Selection) -> io::Result<Report> {
    let mut ends = signal(SignalKind::terminate())?;
    let listener = TcpListener::bind(args.listen).await?;
    let url = format!("http://{}", listener.local_addr()?);
    let seed = args.seed.unwrap_or_else(rand::random);
    eprint!("{}", greeting(&url, seed, selection.scenarios().len()));
    let interrupted = async move {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = ends.recv() => {}
        }
    };
    let progress = Box::new(|line: &str| eprintln!("  {line}"));
    Ok(conformance::judge(listener, seed, selection, progress, interrupted).await)
}

fn greeting(url: &str, seed: u64, scenarios: usize) -> String {
    format!(
        "conformance kit on {url}, {scenarios} scenarios, seed {seed}\n\
         \x20 next instruction  GET {url}/conformance/next\n\
         \x20 token of a user   GET {url}/conformance/token?user=USER\n\
         Start your harness now. It asks for instructions and follows them until it gets {{\"do\":\"done\"}}.\n\
         Instructions: docs/conformance.md. Control-C ends the run with a report.\n"
    )
}

fn list(selection: &Selection) -> String {
    let rules = scenarios::rules().filter(|(rule, _)| selection.has(rule));
    let line = |(rule, scenario): (&conformance::rule::Rule, Option<&str>)| {
        format!("{}\t{}\t{}\t{}\n", rule.name, scenario.unwrap_or("every-scenario"), rule.section, rule.text)
    };
    rules.map(line).collect()
}

fn write(file: Option<&PathBuf>, text: &str) -> Result<(), ConformanceError> {
    let written = match file {
        Some(file) => fs::write(file, text),
        None => {
            let mut out = io::stdout().lock();
            out.write_all(text.as_bytes()).and_then(|()| out.flush())
        }
    };
    written.map_err(ConformanceError::Output)
}
