//! The live sockets of one thread.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::LocalBoxFuture;
use slab::Slab;
use tokio::task::{coop, yield_now};

use super::live_socket::{End, LiveSocket};
use super::workbench::Workbench;
use crate::domain::devices::bell::{Bell, Board};

/// So many are looked after before others of the thread get their turn.
const TURN_MAX: usize = 256;

/// Looks after all whose bell was rung, in one turn: the acks of a commit go out one after the other, and no task but this
/// one wakes for them.
pub struct Roster {
    seats: RefCell<Slab<Option<Rc<RefCell<LiveSocket>>>>>,
    board: Arc<Board>,
    pub bench: Rc<Workbench>,
    /// By when all must have left, once the server drains.
    leave_before: Cell<Option<Instant>>,
}

/// A socket's place in the roster, given back when dropped. It is empty until the socket is welcomed.
pub struct Seat {
    roster: Rc<Roster>,
    number: usize,
}

impl Roster {
    pub fn new(bench: Rc<Workbench>) -> Rc<Self> {
        Rc::new(Roster { seats: RefCell::default(), board: Arc::default(), bench, leave_before: Cell::default() })
    }

    pub fn reserve(self: &Rc<Self>) -> Seat {
        Seat { roster: self.clone(), number: self.seats.borrow_mut().insert(None) }
    }

    /// Looks after the sockets for as long as it is polled.
    pub fn attend(self: Rc<Self>) -> impl Future<Output = ()> {
        // A write that the budget of a task forbids would look like a peer that does not read.
        coop::unconstrained(async move {
            let mut rung = Vec::new();
            loop {
                self.board.rung(&mut rung).await;
                for (others, turn) in rung.chunks(TURN_MAX).enumerate() {
                    if others > 0 {
                        yield_now().await;
                    }
                    let now = Instant::now();
                    turn.iter().for_each(|number| self.rung(*number, now));
                }
                rung.clear();
            }
        })
    }

    /// Has all sockets leave, those to come as well; with `None` those to come may stay.
    pub fn leave_before(&self, until: Option<Instant>) {
        self.leave_before.set(until);
        let Some(until) = until else { return };
        let seats = self.seats.borrow();
        seats.iter().filter_map(|(_, live)| live.as_ref()).for_each(|live| live.borrow_mut().leave_before(until));
    }

    /// Whose bell it was may have left meanwhile, or not sit down yet.
    fn rung(&self, number: usize, now: Instant) {
        let live = self.seats.borrow().get(number).cloned().flatten();
        if let Some(live) = live {
            live.borrow_mut().rung(now);
        }
    }
}

impl Seat {
    pub fn bell(&self) -> Bell {
        Bell::Board(self.roster.board.clone(), self.number)
    }

    /// Serves a socket until it ends.
    pub fn serve(self, mut live: LiveSocket) -> impl Future<Output = ()> {
        if let Some(until) = self.roster.leave_before.get() {
            live.leave_before(until);
        }
        let live = Rc::new(RefCell::new(live));
        if let Some(seat) = self.roster.seats.borrow_mut().get_mut(self.number) {
            *seat = Some(live.clone());
        }
        async move {
            let end = {
                let mut timer = pin!(tokio::time::sleep_until(Instant::now().into()));
                poll_fn(|cx| live.borrow_mut().poll(cx, timer.as_mut())).await
            };
            drop(self);
            leave(live, end).await;
        }
    }
}

/// Boxed here, so that the task of a live socket has no room for it.
fn leave(live: Rc<RefCell<LiveSocket>>, end: End) -> LocalBoxFuture<'static, ()> {
    match Rc::into_inner(live) {
        Some(live) => Box::pin(live.into_inner().leave(end)),
        // Nobody else has it any more.
        None => Box::pin(ready(())),
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.roster.seats.borrow_mut().try_remove(self.number);
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Every idle connection keeps these, and its mailbox; a byte more is a megabyte for each million of them.
    #[test]
    fn an_idle_socket_is_lean() {
        fn size_of_task<F: Future>(_serve: fn(Seat, LiveSocket) -> F) -> usize {
            size_of::<F>()
        }
        // With what counts and guards it 640 bytes, which is what the allocator hands out for one byte more than 512, too.
        assert!(size_of::<LiveSocket>() <= 616, "{} bytes", size_of::<LiveSocket>());
        assert!(size_of_task(Seat::serve) <= 160, "{} bytes", size_of_task(Seat::serve));
    }
}
