//! The announcement on standard output when everything is served.

use std::io::{self, Write};

use super::listeners::Addresses;
use super::role::Role;
use super::spawn::spawn;
use edge::auth::{ControlToken, SigningKey};

/// On a thread of its own: standard output may be a pipe that is full, and does not have to be read.
pub(super) fn print(said: String) -> io::Result<()> {
    spawn("announcement", move || {
        let _ = io::stdout().lock().write_all(said.as_bytes());
    })
    .map(drop)
}

/// The announcement that everything is served, so that a script knows that it may connect. It has no secret: standard
/// output may be a journal.
pub(super) fn of_gateway(
    key: Option<&SigningKey>,
    token: &ControlToken,
    scheme: &str,
    Addresses { public, admin, control, .. }: &Addresses,
) -> String {
    let mut lines = String::new();
    if let Some(path) = key.and_then(SigningKey::development) {
        lines += &format!("development key: kept at {}\n", path.display());
    }
    lines += &match public {
        Some(public) => format!("heartline is listening on {scheme}://{public} (admin http://{admin})\n"),
        None => format!("heartline {} is running (admin http://{admin})\n", Role::History.name()),
    };
    lines += &match token.kept_at() {
        Some(path) => format!("control listener: http://{control} (token kept at {})\n", path.display()),
        None => format!("control listener: http://{control} (token: control.token)\n"),
    };
    lines
}
