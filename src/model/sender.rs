//! The sender of a change, for a store that decides rewards itself.

use super::ids::ConnectionId;
use super::rewards::decided::DecidedRules;
use super::visitor::Visitor;

#[derive(Clone, Copy, Debug)]
pub struct Sender {
    /// It gets the answer, and no push.
    pub connection: ConnectionId,
    pub visitor: Visitor,
    /// The rules that are decided already, as far as the sender knows.
    pub known: DecidedRules,
}
