//! `heartline rebuild`: opens a new deployment after Redis was lost.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use clap::Args;

use crate::app::fleet::rebuild::rebuild;
use crate::app::rebuild::{RebuildError, RebuildOptions, Told};
use crate::config::Config;

/// Where progress is written line by line, it is not written more often.
const LINE_EVERY: Duration = Duration::from_secs(5);
const BAR_WIDTH: u64 = 30;

#[derive(Args, Debug)]
pub struct RebuildArgs {
    /// Say what would be done and lost, and change nothing.
    #[arg(long)]
    dry_run: bool,
    /// Go on where something is lost by it: changes that wait in Kafka or are in quarantine, rewards of today, gateways that
    /// still run.
    #[arg(long, conflicts_with = "dry_run")]
    force: bool,
}

/// Prints each step.
pub fn run(config: &Config, args: &RebuildArgs) -> Result<(), RebuildError> {
    let options = RebuildOptions { force: args.force, dry_run: args.dry_run };
    let mut progress = Progress { is_terminal: io::stderr().is_terminal(), drawn: None };
    rebuild(config, options, &mut |told| progress.show(&told))
}

/// A bar on a terminal, and lines elsewhere.
struct Progress {
    is_terminal: bool,
    /// When progress was drawn last, and nothing else since.
    drawn: Option<Instant>,
}

impl Progress {
    fn show(&mut self, told: &Told) {
        // A closed standard error changes nothing about the rebuild.
        let _ = match told {
            Told::Line(line) => {
                let ends_bar = if self.is_terminal && self.drawn.take().is_some() { "\n" } else { "" };
                writeln!(io::stderr(), "{ends_bar}{line}")
            }
            Told::Progress { what, done, of } if self.is_terminal => {
                self.drawn = Some(Instant::now());
                write!(io::stderr(), "\r[{}] {done} of {of} {what}", bar(*done, *of))
            }
            Told::Progress { .. } if self.drawn.is_some_and(|drawn| drawn.elapsed() < LINE_EVERY) => Ok(()),
            Told::Progress { what, done, of } => {
                self.drawn = Some(Instant::now());
                writeln!(io::stderr(), "{done} of {of} {what}")
            }
        };
    }
}

fn bar(done: u64, of: u64) -> String {
    let filled = (BAR_WIDTH * done.min(of)).checked_div(of).unwrap_or(BAR_WIDTH);
    "#".repeat(filled as usize) + &"-".repeat((BAR_WIDTH - filled) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        let filled = |done, of| bar(done, of).matches('#').count();
        assert_eq!((filled(0, 10), filled(5, 10), filled(10, 10), filled(11, 10)), (0, 15, 30, 30));
        assert_eq!((filled(0, 0), bar(1, 3).len()), (30, 30));
    }
}
