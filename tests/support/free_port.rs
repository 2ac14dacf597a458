//! Ports for servers that cannot choose one of their own.

use std::hash::{BuildHasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

/// Below those that the kernel gives to clients, one of which would have it while the server is down, and below those
/// of the start scripts in `tests/services`.
const PORTS: Range<u16> = 10_000..20_000;

/// A port that nothing listens on. Another process may choose the same one at the same time.
pub fn free_port() -> u16 {
    loop {
        let port = PORTS.start + (RandomState::new().hash_one(()) % PORTS.len() as u64) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
