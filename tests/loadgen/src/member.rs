//! One socket and its present user: sends beats when their turn comes, and tracks their acks.

use std::cell::{Cell, RefCell, RefMut};
use std::ops::Range;
use std::rc::Rc;

use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::oneshot;

use super::answer::{self, Said, Welcome};
use super::ledger::Ledger;
use super::link::Link;
use super::message::Task;
use super::question::{Question, Reading};
use super::stage::Stage;
use super::text::{Names, write_beat, write_get, write_hello};
use super::unacked::Unacked;
use super::viewer::Viewer;
use super::visits::Visits;

pub struct Member {
    /// The index in the crowd; `socket`: the index among all sockets of the run.
    pub slot: u64,
    pub socket: u64,
    /// The names of the first user.
    names: Names,
    /// The distance from one user of the socket to the next.
    stride: u64,
    visits: Visits,
    attempts: Cell<u32>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    link: Link,
    viewer: Viewer,
    /// The states of the absent users of the socket; empty for the present user.
    away: Vec<Away>,
    unacked: Unacked,
    /// The turns taken so far.
    turns: u64,
    /// The server's clock minus the crowd's, milliseconds.
    ahead: i64,
    /// Empty unless acked beats are to be read back.
    ledger: Ledger,
    question: Question,
}

/// An absent user.
#[derive(Clone, Default)]
struct Away {
    viewer: Viewer,
    ledger: Ledger,
}

impl Member {
    fn new(slot: u64, socket: u64, task: &Task) -> Self {
        let names = Names { run: task.run, mid: task.load.first_mid + socket };
        let away = vec![Away::default(); task.load.users_per_socket as usize];
        let state = RefCell::new(State { away, ..State::default() });
        let (stride, visits) = (task.load.sockets, Visits::default());
        Member { slot, socket, names, stride, visits, attempts: Cell::new(0), state }
    }

    /// All members of a crowd, by slot.
    pub fn all(task: &Task, crowd: u32) -> Vec<Rc<Self>> {
        let (first, end) = task.sockets_of(crowd);
        (first..end).map(|socket| Rc::new(Member::new(socket - first, socket, task))).collect()
    }

    /// The names of the present user.
    pub fn names(&self) -> Names {
        Names { mid: self.names.mid + self.stride * u64::from(self.visits.present()), ..self.names }
    }

    /// Ends when the present user should leave, and all of the user's beats are acked.
    pub async fn visit(&self, stage: &Stage) {
        self.visits.end(stage).await;
        self.visits.is_quiet(|| self.unanswered() == 0).await;
    }

    /// Closes the socket, and lets the next user in.
    pub fn leave(&self, stage: &Stage) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        state.link.close(stage);
        state.question.forget();
        state.exchange(self.visits.present());
        self.visits.change(stage);
        state.exchange(self.visits.present());
        stage.tally.borrow_mut().counts.visits += 1;
    }

    /// Requests that this user comes next. Returns whether the user is there already.
    pub fn ask_for(&self, user: u32) -> bool {
        self.visits.ask_for(user);
        self.visits.present() == user && self.is_attached()
    }

    /// The number of the next attempt to connect.
    pub fn next_attempt(&self) -> u32 {
        self.attempts.replace(self.attempts.get().wrapping_add(1))
    }

    /// Goes on with a new socket: sends what is due, and sends unanswered beats again.
    pub fn attach(&self, stage: &Stage, half: OwnedWriteHalf, welcome: &Welcome) {
        let mut state = self.state.borrow_mut();
        let state = &mut *state;
        state.link.put_up(half);
        state.ahead = welcome.now as i64 - stage.clock_ms() as i64;
        state.viewer.flag = answer::flag(welcome.flag.as_ref());
        if !stage.load.ack_delay.is_zero() && !stage.echo {
            let delay = stage.load.ack_delay.as_millis() as u64;
            state.link.send(stage, |seq, text| write_hello(seq, delay, text));
        }
        let names = self.names();
        for sent in state.unacked.iter_mut() {
            let flag = state.viewer.flag.as_ref();
            sent.seq = state.link.send(stage, |seq, text| write_beat(seq, &sent.beat, flag, &names, text));
            stage.tally.borrow_mut().counts.resent += 1;
        }
        self.catch_up(stage, state);
    }

    /// Drops the lost socket.
    pub fn detach(&self) {
        let mut state = self.state.borrow_mut();
        state.question.forget();
        state.link.take_down();
    }

    pub fn is_attached(&self) -> bool {
        self.state.borrow().link.is_up()
    }

    /// Takes a turn of the load. If the member has to wait, the beat stays due.
    pub fn turn(&self, stage: &Stage, turn: u64, now: u64) {
        let mut state = self.state.borrow_mut();
        if state.turns > turn {
            // An ack came in between, and the beat was sent then.
            return;
        }
        let intended = stage.schedule().intended_turn(self.slot, turn);
        match intended.filter(|_| state.turns == turn && self.may_send(stage, &state)) {
            Some(intended) => {
                self.beat(stage, &mut state, intended);
                stage.tally.borrow_mut().lag.record(now.saturating_sub(intended));
            }
            None => stage.tally.borrow_mut().late(),
        }
    }

    /// Sends beats that became due while the member waited.
    fn catch_up(&self, stage: &Stage, state: &mut State) {
        let Some(now) = stage.now() else { return };
        while self.may_send(stage, state)
            && let Some(intended) = stage.schedule().intended_turn(self.slot, state.turns)
            && intended <= now
        {
            self.beat(stage, state, intended);
        }
    }

    fn beat(&self, stage: &Stage, state: &mut State, intended: u64) {
        let at = state.ahead.saturating_add_unsigned(stage.clock_ms_at(intended)) as u64;
        let (beat, flag) = {
            let mut dice = stage.dice.borrow_mut();
            let beat = state.viewer.make(at, &stage.habits, &mut dice);
            (beat, state.viewer.flag(&stage.habits, &mut dice))
        };
        state.turns += 1;
        let names = self.names();
        let seq = state.link.send(stage, |seq, text| write_beat(seq, &beat, flag.as_ref(), &names, text));
        state.unacked.push(seq, intended, beat);
        stage.open.set(stage.open.get() + 1);
        stage.tally.borrow_mut().sent();
    }

    /// Handles a text of the server.
    pub fn receive(&self, stage: &Stage, text: &[u8]) {
        let mut state = self.state.borrow_mut();
        if stage.echo {
            return match answer::echoed(text) {
                Some(seq) => self.acked(stage, &mut state, seq),
                None => stage.tally.borrow_mut().error("unreadable"),
            };
        }
        if let Some(ack) = answer::plain_ack(text) {
            state.viewer.flag = ack.flag.or(state.viewer.flag);
            return self.acked(stage, &mut state, ack.seq);
        }
        match answer::read(text) {
            Some(said) => self.told(stage, state, said),
            None => stage.tally.borrow_mut().error("unreadable"),
        }
    }

    fn told(&self, stage: &Stage, mut state: RefMut<'_, State>, said: Said) {
        if let Some(error) = said.error {
            stage.open.set(stage.open.get() - u64::from(state.unacked.remove(error.seq)));
            state.question.answered(error.seq, Err(error.code.clone()));
            stage.tally.borrow_mut().error(&error.code);
            self.catch_up(stage, &mut state);
            self.note_quiet(&state);
        } else if let Some(ack) = said.ack {
            for rejection in &ack.rejected {
                stage.tally.borrow_mut().rejected(&rejection.reason);
                state.unacked.reject(rejection.seq);
            }
            state.viewer.flag = answer::flag(ack.flag.as_ref()).or(state.viewer.flag);
            self.acked(stage, &mut state, ack.seq);
        } else if let Some(result) = said.result {
            state.question.answered(Some(result.seq), Ok(result.records.unwrap_or_default()));
        } else if let Some(push) = said.push {
            state.viewer.flag = answer::flag(push.flag.as_ref()).or(state.viewer.flag);
            stage.tally.borrow_mut().counts.pushes += 1;
        } else if said.reward.is_some() {
            stage.tally.borrow_mut().counts.rewards += 1;
        } else if said.bye.is_none() {
            stage.tally.borrow_mut().error("unreadable");
        }
    }

    fn acked(&self, stage: &Stage, state: &mut State, seq: u32) {
        let now = stage.now().unwrap_or(0);
        while let Some(sent) = state.unacked.pop(seq) {
            stage.open.set(stage.open.get() - 1);
            if sent.rejected {
                continue;
            }
            let measured = (stage.is_measured(sent.intended), stage.is_measured(now));
            stage.tally.borrow_mut().acked(sent.intended, now, measured);
            if stage.load.verify.is_some() {
                state.ledger.note(&sent.beat);
            }
        }
        self.catch_up(stage, state);
        self.note_quiet(state);
    }

    fn note_quiet(&self, state: &State) {
        if state.unacked.len() == 0 {
            self.visits.acked_all();
        }
    }

    /// Requests contents of the present user.
    pub fn ask(&self, stage: &Stage, contents: Range<u32>) -> oneshot::Receiver<Reading> {
        let mut state = self.state.borrow_mut();
        let seq = state.link.send(stage, |seq, text| write_get(seq, contents, &self.names(), text));
        state.question.asked(seq)
    }

    pub fn pong(&self, stage: &Stage, payload: &[u8]) {
        self.state.borrow_mut().link.pong(stage, payload);
    }

    pub fn ledger(&self) -> Ledger {
        self.state.borrow().ledger.clone()
    }

    pub fn unanswered(&self) -> usize {
        self.state.borrow().unacked.len()
    }

    fn may_send(&self, stage: &Stage, state: &State) -> bool {
        let has_room = state.unacked.len() < stage.load.in_flight as usize;
        state.link.is_up() && has_room && !self.visits.is_leaving()
    }
}

impl State {
    /// Exchanges the present state with the stored state of a user.
    fn exchange(&mut self, user: u32) {
        let away = &mut self.away[user as usize];
        std::mem::swap(&mut self.viewer, &mut away.viewer);
        std::mem::swap(&mut self.ledger, &mut away.ledger);
    }
}
