//! A child process that does not outlive its parent.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;

use serde::Serialize;
use tokio::sync::mpsc;

/// The most unread lines. Beyond them the child waits.
const LINES_MAX: usize = 1024;

/// Killed and waited for when dropped. A child that ends with its standard input also ends if its parent is killed.
pub struct Offspring {
    child: Child,
    stdin: ChildStdin,
    /// Lines of its standard output. The channel closes with the output.
    pub lines: mpsc::Receiver<String>,
}

impl Offspring {
    pub fn start(command: &mut Command) -> Result<Self, String> {
        let program = command.get_program().to_string_lossy().into_owned();
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = spawned.map_err(|error| format!("{program} cannot be started: {error}"))?;
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let (sender, lines) = mpsc::channel(LINES_MAX);
        // Reads on after the receiver is gone, so that the child never waits for a full pipe.
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                let _ = sender.blocking_send(line);
            }
        });
        Ok(Offspring { child, stdin, lines })
    }

    /// This program again, in one of its hidden roles.
    pub fn of_myself(role: &str) -> Result<Self, String> {
        let myself =
            std::env::current_exe().map_err(|error| format!("where this program is cannot be told: {error}"))?;
        Offspring::start(Command::new(myself).arg(role))
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Writes a line to the child's standard input.
    pub fn tell(&mut self, what: &impl Serialize) -> Result<(), String> {
        let mut line = serde_json::to_vec(what).map_err(|error| error.to_string())?;
        line.push(b'\n');
        let written: io::Result<()> = self.stdin.write_all(&line).and_then(|()| self.stdin.flush());
        written.map_err(|error| format!("a child process is gone: {error}"))
    }
}

impl Drop for Offspring {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
