//! From commits to published numbers, by a clock that the test sets.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::*;
use crate::commit_listener::{CommitListener, CommittedChange, CommittedGroup};
use crate::time::source::TimeSource;
use model::beat::{Beat, State};
use model::change::Outcome;
use model::ids::{ConnectionId, Content, SessionId, UserId};
use model::record::Record;
use model::rewards::credit::Credit;
use model::rule::Verdict;
use model::transition::{Cause, Transition};
use model::version::Version;
use model::visitor::Visitor;

const FILM: Content = Content { kind: 1, oid: 100 };
const SIZES: Sizes = Sizes { sessions: 1_000, top: 100, tail: 10 };

#[derive(Clone, Debug)]
struct SetTime {
    started: Instant,
    ms: Arc<AtomicU64>,
}

impl SetTime {
    fn since_start(&self) -> Duration {
        Duration::from_millis(self.ms.load(Ordering::Relaxed))
    }
}

impl TimeSource for SetTime {
    fn wall(&self) -> u64 {
        1_700_000_000_000 + self.ms.load(Ordering::Relaxed)
    }

    fn instant(&self) -> Instant {
        self.started + self.since_start()
    }

    fn since_boot(&self) -> Duration {
        self.since_start()
    }
}

struct Fixture {
    counting: LiveCounting,
    inlet: Arc<LiveInlet>,
    board: Arc<LiveBoard>,
    clock: Arc<Clock>,
    ms: Arc<AtomicU64>,
}

impl Fixture {
    fn with_room_for(changes: usize) -> Self {
        let ms = Arc::<AtomicU64>::default();
        let source = SetTime { started: Instant::now(), ms: ms.clone() };
        let clock = Arc::new(Clock::of(Box::new(source), 0, Duration::from_secs(300)));
        let mut registry = Registry::default();
        let inlet = Arc::new(LiveInlet::of(changes, clock.clone(), &mut registry));
        let board = LiveBoard::new();
        let timeout = Duration::from_secs(10);
        let (inlet_of, board_of, clock_of) = (inlet.clone(), board.clone(), clock.clone());
        let counting = LiveCounting::new(inlet_of, board_of, clock_of, timeout, SIZES, vec![1], &mut registry);
        Fixture { counting, inlet, board, clock, ms }
    }

    fn wait(&mut self, ms: u64) {
        self.ms.fetch_add(ms, Ordering::Relaxed);
        self.counting.turn();
    }

    /// One change of `user` is committed.
    fn commit(&self, user: u64, outcome: Outcome, transitions: Vec<Transition>) {
        let change = CommittedChange {
            user: UserId(user),
            origin: ConnectionId(1),
            gateway: None,
            visitor: Visitor::default(),
            outcome,
            flag: None,
            here: false,
            elsewhere: false,
            transitions: 0..transitions.len(),
        };
        let transitions = transitions.into_iter().map(|transition| (0, transition)).collect();
        self.inlet.committed(&CommittedGroup { changes: vec![change], transitions });
    }

    fn beat(&self, user: u64, session: u64, state: State) {
        let at = self.clock.now();
        let session = SessionId(session);
        let beat = Beat { content: FILM, pos: 0, dur: 0, state, session, watched: Some(1), rate: 1.0, at };
        let after = Some(Record::of(&beat, "".into(), Version::NONE, Credit::default()));
        let transition = Transition { user: UserId(user), content: FILM, before: None, after, cause: Cause::Beat };
        self.commit(user, Verdict::written(false).into(), vec![transition]);
    }

    /// Users, sessions, and those of FILM.
    fn published(&self) -> (u64, u64, u32, u32) {
        let (view, film) = (self.board.newest(), self.board.counts(FILM));
        assert_eq!(view.kinds.iter().map(|(_, sessions)| u64::from(*sessions)).sum::<u64>(), view.sessions);
        (view.users, view.sessions, film.users, film.sessions)
    }
}

#[test]
fn a_beat_is_published_in_the_next_second_and_runs_out() {
    let mut live = Fixture::with_room_for(100);
    live.wait(300);
    live.beat(42, 1, State::Playing);
    live.wait(100);
    assert_eq!(live.published(), (0, 0, 0, 0));
    live.wait(600);
    assert_eq!(live.published(), (1, 1, 1, 1));
    assert_eq!(live.board.newest().seconds[58..], [0, 1]);
    live.beat(42, 1, State::Paused);
    live.wait(9_000);
    assert_eq!(live.published(), (1, 1, 1, 1));
    live.wait(1_000);
    assert_eq!(live.published(), (0, 0, 0, 0));
    assert_eq!(live.board.newest().visits.len(), 1);
}

#[test]
fn a_final_beat_an_erasure_and_a_kick_end_live_sessions() {
    let mut live = Fixture::with_room_for(100);
    for (user, session) in [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (4, 1)] {
        live.beat(user, session, State::Playing);
    }
    live.wait(1_000);
    assert_eq!(live.published(), (4, 6, 4, 6));
    live.beat(1, 1, State::Ended);
    live.commit(1, Outcome::Erased { at: 0, resumed: false, moved: false }, Vec::new());
    live.commit(2, Outcome::Erased { at: 0, resumed: false, moved: true }, Vec::new());
    live.inlet.kicked(UserId(3));
    live.inlet.erased(UserId(4));
    // Committed after the kick, and made before it.
    live.beat(3, 1, State::Playing);
    live.wait(1_000);
    assert_eq!(live.published(), (1, 1, 1, 1));
    live.beat(3, 1, State::Playing);
    live.wait(1_000);
    assert_eq!(live.published(), (2, 2, 2, 2), "made after it");
}

#[test]
fn removed_records_end_no_session_and_superseded_beats_make_none() {
    let mut live = Fixture::with_room_for(100);
    live.beat(1, 1, State::Playing);
    let superseded = Verdict::Rejected { reason: model::rule::Reason::Superseded, record: None };
    live.commit(2, superseded.into(), Vec::new());
    live.commit(3, Verdict::Same.into(), Vec::new());
    live.commit(1, Outcome::Deleted { moved: vec![FILM], at: 5 }, Vec::new());
    live.commit(1, Outcome::Cleared { moved: true, at: 5 }, Vec::new());
    live.wait(1_000);
    assert_eq!(live.published(), (1, 1, 1, 1));
}

#[test]
fn a_full_inlet_drops_beats_and_counts_them_as_late() {
    let mut live = Fixture::with_room_for(3);
    (0..5).for_each(|user| live.beat(user, 1, State::Playing));
    live.wait(1_000);
    assert_eq!((live.published().0, live.inlet.late()), (3, 2));
    (0..3).for_each(|user| live.beat(user + 3, 1, State::Playing));
    live.wait(1_000);
    assert_eq!((live.published().0, live.inlet.late()), (6, 2));
}
