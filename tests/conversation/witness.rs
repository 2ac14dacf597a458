//! Checks the frames that a client has sent and received against the promises of the protocol.

use std::collections::{HashMap, HashSet};

use heartline::edge::connection::close::CloseReason;
use heartline::edge::protocol::frame::{Ack, ErrorCode, ServerFrame};
use heartline::model::beat::Beat;
use heartline::model::ids::{Content, SessionId, UserId};

use crate::conversation::peer::End;

/// The newest committed `at` of each playback. Beats of one are sent in the order of their `at`, so it says of each
/// whether it is committed.
pub type Committed = HashMap<(UserId, Content, SessionId), u64>;

/// One connection.
pub struct Witness {
    user: UserId,
    sent: Vec<Sent>,
    /// How many of these were read.
    heard: usize,
    acked: u32,
    rejected: HashSet<(u32, u32)>,
    /// Operations that were answered `unavailable`, but for lists: these may have had to wait for too long.
    pub refused: Vec<u32>,
}

struct Sent {
    seq: Option<u32>,
    kind: Kind,
    answered: bool,
}

#[derive(Debug, PartialEq)]
pub enum Kind {
    /// Each with whether it is rejected whatever is stored.
    Beats(Vec<(Beat, bool)>),
    Get,
    List,
    /// A forgetting as of then; no two are of the same moment.
    Order(u64),
    /// A hello or a token: it waits for no commit.
    Aside,
    /// It cannot be taken.
    Bad,
}

impl Kind {
    fn is_operation(&self) -> bool {
        matches!(self, Kind::Get | Kind::List | Kind::Order(_))
    }
}

impl Witness {
    pub fn new(user: UserId) -> Self {
        Witness { user, sent: Vec::new(), heard: 0, acked: 0, rejected: HashSet::new(), refused: Vec::new() }
    }

    /// `seq`: what an answer will carry.
    pub fn sends(&mut self, seq: Option<u32>, kind: Kind) {
        self.sent.push(Sent { seq, kind, answered: false });
    }

    pub fn heard(&mut self, count: usize) {
        self.heard += count;
    }

    pub fn is_said(&mut self, frame: &ServerFrame, committed: &Committed) {
        match frame {
            ServerFrame::Ack(ack) => self.is_acked(ack, committed),
            ServerFrame::Result { seq, .. } => {
                let aside = self.is_of(*seq, |kind| *kind == Kind::Aside);
                self.answered(Some(*seq), |kind| if aside { *kind == Kind::Aside } else { kind.is_operation() });
            }
            ServerFrame::Error { seq, code: ErrorCode::Unavailable, .. } => {
                self.answered(*seq, Kind::is_operation);
                let is_list = seq.is_some_and(|seq| self.is_of(seq, |kind| *kind == Kind::List));
                self.refused.extend(seq.filter(|_| !is_list));
            }
            ServerFrame::Error { seq, code: ErrorCode::Unauthorized, .. } => {
                self.answered(*seq, |kind| *kind == Kind::Aside);
            }
            ServerFrame::Error { seq, .. } => self.answered(*seq, |kind| *kind == Kind::Bad),
            ServerFrame::Push(_) => {}
            other => panic!("an unrequested frame: {other:?}"),
        }
    }

    /// A read reached the store: everything before it must be there.
    pub fn reads(&self, committed: &Committed) {
        let first = self.first_open(Kind::is_operation).expect("a read that was not asked for");
        assert!(matches!(self.sent[first].kind, Kind::Get | Kind::List), "a read beside an operation before it");
        self.all_committed(first, committed);
    }

    /// An order of that moment was committed. False: the client was told that it would not be. `reads`: the client has
    /// been told all that there is to tell.
    pub fn is_ordered(&self, at: u64, reads: bool, committed: &Committed) -> bool {
        let Some(first) = self.first_open(|kind| *kind == Kind::Order(at)) else { return false };
        let alone = self.first_open(Kind::is_operation) == Some(first);
        assert!(alone || !reads, "an order beside an operation before it");
        self.all_committed(first, committed);
        true
    }

    /// It has ended, and must have been told everything unless it was cut off.
    pub fn ends(&self, end: End) {
        let cut_off = matches!(end, End::Closed(CloseReason::Kicked | CloseReason::Replaced | CloseReason::TooSlow));
        assert!(cut_off || self.is_at_rest(), "{end:?} without an answer to {:?}", self.open().collect::<Vec<_>>());
    }

    /// Whether everything that was read is answered.
    pub fn is_at_rest(&self) -> bool {
        self.open().next().is_none()
    }

    /// Whether only beats wait, all of them committed, or what waits is a list or behind one.
    pub fn waits_for_time(&self, committed: &Committed) -> bool {
        let behind_list = self.first_open(Kind::is_operation).map(|first| &self.sent[first].kind) == Some(&Kind::List);
        behind_list || {
            let beats =
                |sent: &Sent| matches!(&sent.kind, Kind::Beats(beats) if self.settled(sent.seq, beats, committed));
            self.heard_frames().filter(|sent| !sent.answered).all(beats)
        }
    }

    /// What was read and is not answered.
    pub fn open(&self) -> impl Iterator<Item = (Option<u32>, &Kind)> {
        self.heard_frames().filter(|sent| !sent.answered).map(|sent| (sent.seq, &sent.kind))
    }

    fn heard_frames(&self) -> impl Iterator<Item = &Sent> {
        self.sent.iter().take(self.heard)
    }

    fn first_open(&self, is_it: impl Fn(&Kind) -> bool) -> Option<usize> {
        self.heard_frames().position(|sent| !sent.answered && is_it(&sent.kind))
    }

    fn is_of(&self, seq: u32, is_it: impl Fn(&Kind) -> bool) -> bool {
        self.heard_frames().any(|sent| sent.seq == Some(seq) && is_it(&sent.kind))
    }

    /// In the order in which they were sent, and once.
    fn answered(&mut self, seq: Option<u32>, is_it: impl Fn(&Kind) -> bool) {
        let first = self.first_open(is_it);
        let expected = first.map(|first| self.sent[first].seq);
        assert_eq!(Some(seq), expected, "an answer to another frame than the first that waits for one");
        self.sent[first.unwrap()].answered = true;
    }

    fn is_acked(&mut self, ack: &Ack, committed: &Committed) {
        assert!(ack.seq >= self.acked, "an ack that goes back");
        assert!(ack.seq > self.acked || !ack.rejected.is_empty(), "{} is acked twice", ack.seq);
        assert!(
            ack.seq == 0 || self.is_of(ack.seq, |kind| matches!(kind, Kind::Beats(_))),
            "an ack of {}, which is no frame of beats",
            ack.seq
        );
        for rejection in &ack.rejected {
            let beat = (rejection.seq.unwrap(), rejection.index);
            assert!(beat.0 > self.acked, "{beat:?} is rejected after its ack");
            assert!(self.rejected.insert(beat), "{beat:?} is rejected twice");
        }
        self.acked = ack.seq;
        for frame in 0..self.heard {
            let Sent { seq, kind: Kind::Beats(beats), answered: false } = &self.sent[frame] else { continue };
            if seq.unwrap() <= ack.seq {
                assert!(self.settled(*seq, beats, committed), "{seq:?} is acked and not committed");
                self.sent[frame].answered = true;
            }
        }
    }

    /// Whether each beat is committed, or was rejected alone and that was said.
    fn settled(&self, seq: Option<u32>, beats: &[(Beat, bool)], committed: &Committed) -> bool {
        beats.iter().zip(0..).all(|((beat, alone), index)| match alone {
            true => self.rejected.contains(&(seq.unwrap(), index)),
            false => self.is_committed(beat, committed),
        })
    }

    fn is_committed(&self, beat: &Beat, committed: &Committed) -> bool {
        committed.get(&(self.user, beat.content, beat.session)).is_some_and(|at| *at >= beat.at)
    }

    fn all_committed(&self, before: usize, committed: &Committed) {
        for sent in &self.sent[..before] {
            if let Kind::Beats(beats) = &sent.kind {
                let all = beats.iter().all(|(beat, alone)| *alone || self.is_committed(beat, committed));
                assert!(all, "{:?} is not committed before what follows", sent.seq);
            }
        }
    }
}
