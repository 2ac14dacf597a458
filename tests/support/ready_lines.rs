//! What a gateway prints when it serves.

use std::net::SocketAddr;

/// The public listener, if there is one, and that of probes.
pub fn listening(line: &str) -> Option<(Option<SocketAddr>, SocketAddr)> {
    let (said, admin) = line.strip_prefix("heartline ")?.strip_suffix(')')?.split_once(" (admin http://")?;
    let public = match said.strip_prefix("is listening on http") {
        Some(rest) => Some(rest.trim_start_matches('s').strip_prefix("://")?.parse().ok()?),
        None => said.ends_with(" is running").then_some(None)?,
    };
    Some((public, admin.parse().ok()?))
}

/// The control listener.
pub fn control_of(line: &str) -> Option<SocketAddr> {
    line.strip_prefix("control listener: http://")?.split_once(' ')?.0.parse().ok()
}
