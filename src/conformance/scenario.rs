//! A scenario: what happens to one client, and the rules that it can break thereby.

use futures_util::future::LocalBoxFuture;

use super::rule::Rule;
use super::stage::{Played, Stage};

pub struct Scenario {
    pub name: &'static str,
    pub rules: &'static [&'static Rule],
    pub play: for<'a> fn(&'a mut Stage) -> LocalBoxFuture<'a, Played>,
}
