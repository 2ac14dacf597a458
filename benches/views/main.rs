//! What views cost, and how many a second there can be.
//!
//! ```sh
//! cargo bench --bench views                                                 # durable adds a second, embedded store
//! cargo bench --bench views -- redis --redis redis://… --mongodb mongodb://…  # the same, on Redis with MongoDB
//! cargo bench --bench views -- naive --redis redis://… --mongodb mongodb://…  # a service that does INCR and $inc
//! cargo bench --bench views -- pages                # a gateway: 50,000 totals read and 1,500 views counted a second
//! ```
//!
//! `pages` starts the gateway itself. `HEARTLINE__` variables reach it, so that it may count in Redis. Redis and MongoDB
//! must be new or `heartline init`ed. Set TMPDIR to a directory on the disk that is meant.

#[path = "../support/cpu.rs"]
mod cpu;
#[path = "../support/embedded.rs"]
mod embedded;
mod gateway;
mod naive;
mod pages;
mod store;
mod times;

use std::env;
use std::time::Duration;

use clap::Parser;

const CONTENTS: u64 = 10_000;
const USERS: u64 = 100_000;
/// Of the views by request of the settings' default.
const KIND: u16 = 3;

#[derive(Parser)]
struct Options {
    #[arg(value_parser = ["embedded", "redis", "naive", "pages"], default_value = "embedded")]
    what: String,
    #[arg(long, default_value = "redis://127.0.0.1:6379")]
    redis: String,
    #[arg(long, default_value = "mongodb://127.0.0.1:27017")]
    mongodb: String,
    /// Views under way at one time.
    #[arg(long, default_value_t = 8_192)]
    in_flight: usize,
    #[arg(long, default_value_t = 10)]
    seconds: u64,
}

impl Options {
    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

fn main() {
    let options = Options::parse_from(env::args().filter(|word| word != "--bench"));
    match options.what.as_str() {
        "embedded" => store::embedded(&options),
        "redis" => store::redis(&options),
        "naive" => naive::run(&options),
        _ => pages::run(&options),
    }
}
