//! `/v1/views` of the real binary, with Redis and a statistics store: what is counted in the one comes to be in the other.
//!
//! The tests need Redis and a server that speaks MongoDB's protocol and say so: `tests/run statistics` starts it and runs
//! them.

mod away;
mod counts;
mod kills;
mod pages;
mod refusals;
mod two_gateways;

use crate::{mongo_server, support};
