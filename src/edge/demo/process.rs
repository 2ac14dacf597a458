//! Which process serves the page, so that the page can tell a restart from a lost connection, and name what to kill and
//! how to start it again; and whether there are history packs to show.

use std::ffi::OsString;
use std::sync::LazyLock;

use axum::extract::State;
use axum::response::Response;
use http::HeaderMap;
use serde::Serialize;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::body;
use crate::http::problem::Problem;

/// Differs after every start, even where a process gets the number of the one before it.
static INSTANCE: LazyLock<String> = LazyLock::new(|| format!("{:016x}", rand::random::<u64>()));

#[derive(Serialize)]
struct Shown<'a> {
    pid: u32,
    instance: &'a str,
    /// The command line that started it, for a shell. No argument is a secret; the environment is left out.
    command: String,
    /// Where the source is; empty where the package does not say.
    repository: &'a str,
    /// Whether this gateway sends history packs, which `/demo/packs` then shows.
    packs: bool,
}

/// `GET /demo/process`: `{"pid":4711,"instance":"9f86d081884c7d65","command":"heartline","repository":"","packs":false}`.
pub async fn get(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    refuse_other_pages(&headers)?;
    let shown = Shown {
        pid: std::process::id(),
        instance: &INSTANCE,
        command: command(std::env::args_os()),
        repository: env!("CARGO_PKG_REPOSITORY"),
        packs: context.packs.is_some(),
    };
    Ok(body::answered(serde_json::to_string(&shown).expect("numbers and text")))
}

fn command(arguments: impl Iterator<Item = OsString>) -> String {
    let words: Vec<_> = arguments.map(|argument| shell_word(&argument.to_string_lossy())).collect();
    words.join(" ")
}

/// As it is, where a shell reads nothing else in it; otherwise in quotes.
fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_the_command_as_it_was_given() {
        let given = ["target/release/heartline", "serve", "--config", "my file.toml", "it's", "$HOME", ""];
        let shown = command(given.iter().map(OsString::from));
        assert_eq!(shown, r"target/release/heartline serve --config 'my file.toml' 'it'\''s' '$HOME' ''");
        let read =
            std::process::Command::new("sh").args(["-c", &format!("printf '%s\n' {shown}")]).output().expect("sh");
        assert_eq!(String::from_utf8_lossy(&read.stdout), given.join("\n") + "\n");
    }
}
