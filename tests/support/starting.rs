//! A process that is still starting: nothing of it listens yet.

use std::process::{Child, Command, ExitStatus, Stdio};

use tempfile::TempDir;

use super::binary::command;
use super::{CONTROL_TOKEN, PATIENCE, SECRET, until};

pub struct Starting {
    child: Child,
    _directory: TempDir,
}

impl Starting {
    /// `words`: of the command. Settings are written as in the file.
    pub fn with(words: &[&str], settings: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let own = [
            ("server.listen", "127.0.0.1:0"),
            ("admin.listen", "127.0.0.1:0"),
            ("control.listen", "127.0.0.1:0"),
            ("control.token", CONTROL_TOKEN),
            ("auth.hs256_secret", SECRET),
            ("demo.enabled", "false"),
        ];
        let settings = own.iter().chain(settings).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let mut command = command(words, &settings.collect(), directory.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
        Starting { child, _directory: directory }
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(status.expect("kill").success());
    }

    pub async fn ended(&mut self) -> ExitStatus {
        let mut ended = None;
        until(&format!("the end, within {PATIENCE:?}"), async || {
            ended = self.child.try_wait().expect("a child");
            ended.is_some()
        })
        .await;
        ended.expect("it has ended")
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
