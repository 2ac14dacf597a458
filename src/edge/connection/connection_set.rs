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

use super::end::End;
use super::live_socket::LiveSocket;
use super::scratch_buffers::ScratchBuffers;
use domain::devices::ready_list::{Notifier, ReadyList};

/// The sockets that are served before other tasks of the thread get their turn.
const SERVED_TOGETHER_MAX: usize = 256;

/// Serves all sockets whose inboxes are ready, in one pass: the acks of a commit go out one after the other, and no
/// task but this one wakes for them.
pub struct ConnectionSet {
    entries: RefCell<Slab<Option<Rc<RefCell<LiveSocket>>>>>,
    ready_list: Arc<ReadyList>,
    pub scratch: Rc<ScratchBuffers>,
    /// When all sockets must have left, once the server drains.
    leave_before: Cell<Option<Instant>>,
}

/// A socket's slot in the connection set, given back when dropped. The slot is empty until the socket is welcomed.
pub struct SetEntry {
    connection_set: Rc<ConnectionSet>,
    number: usize,
}

impl ConnectionSet {
    pub fn new(scratch: Rc<ScratchBuffers>) -> Rc<Self> {
        Rc::new(ConnectionSet {
            entries: RefCell::default(),
            ready_list: Arc::default(),
            scratch,
            leave_before: Cell::default(),
        })
    }

    pub fn reserve(self: &Rc<Self>) -> SetEntry {
        SetEntry { connection_set: self.clone(), number: self.entries.borrow_mut().insert(None) }
    }

    /// Serves the sockets for as long as it is polled.
    pub fn attend(self: Rc<Self>) -> impl Future<Output = ()> {
        // A write that the budget of a task forbids would look like a peer that does not read.
        coop::unconstrained(async move {
            let mut ready = Vec::new();
            loop {
                self.ready_list.ready(&mut ready).await;
                for (others, numbers) in ready.chunks(SERVED_TOGETHER_MAX).enumerate() {
                    if others > 0 {
                        yield_now().await;
                    }
                    let now = Instant::now();
                    numbers.iter().for_each(|number| self.serve(*number, now));
                }
                ready.clear();
            }
        })
    }

    /// Makes all sockets leave, including later ones; with `None` later ones may stay.
    pub fn leave_before(&self, until: Option<Instant>) {
        self.leave_before.set(until);
        let Some(until) = until else { return };
        let entries = self.entries.borrow();
        entries.iter().filter_map(|(_, live)| live.as_ref()).for_each(|live| live.borrow_mut().leave_before(until));
    }

    /// The socket may have ended meanwhile, or not be served yet.
    fn serve(&self, number: usize, now: Instant) {
        let live = self.entries.borrow().get(number).cloned().flatten();
        if let Some(live) = live {
            live.borrow_mut().serve(now);
        }
    }
}

impl SetEntry {
    pub fn notifier(&self) -> Notifier {
        Notifier::ReadyList(self.connection_set.ready_list.clone(), self.number)
    }

    /// Serves a socket until it ends.
    pub fn serve(self, mut live: LiveSocket) -> impl Future<Output = ()> {
        if let Some(until) = self.connection_set.leave_before.get() {
            live.leave_before(until);
        }
        if let Some(set_entry) = self.connection_set.entries.borrow_mut().get_mut(self.number) {
            *set_entry = Some(Rc::new(RefCell::new(live)));
        }
        async move {
            let end = {
                let mut timer = pin!(tokio::time::sleep_until(Instant::now().into()));
                // Found anew each time: the task keeps no reference of its own, so that it stays small.
                poll_fn(|cx| self.live().borrow_mut().poll(cx, timer.as_mut())).await
            };
            let live = self.live();
            drop(self);
            leave(live, end).await;
        }
    }

    fn live(&self) -> Rc<RefCell<LiveSocket>> {
        let entries = self.connection_set.entries.borrow();
        entries.get(self.number).cloned().flatten().expect("an entry is there for as long as its task")
    }
}

/// Boxed here, so that the task of a live socket has no room for it.
fn leave(live: Rc<RefCell<LiveSocket>>, end: End) -> LocalBoxFuture<'static, ()> {
    match Rc::into_inner(live) {
        Some(live) => Box::pin(live.into_inner().leave(end)),
        // This was the last reference.
        None => Box::pin(ready(())),
    }
}

impl Drop for SetEntry {
    fn drop(&mut self) {
        self.connection_set.entries.borrow_mut().try_remove(self.number);
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Every idle connection keeps these, and its inbox; a byte more is a megabyte for each million of them.
    #[test]
    fn an_idle_socket_stays_within_its_memory_bound() {
        fn size_of_task<F: Future>(_serve: fn(SetEntry, LiveSocket) -> F) -> usize {
            size_of::<F>()
        }
        // With its reference counts and the cell around it at most 640 bytes: the size class of the allocator that
        // begins at 513.
        assert!(size_of::<LiveSocket>() <= 568, "{} bytes", size_of::<LiveSocket>());
        assert!(size_of_task(SetEntry::serve) <= 160, "{} bytes", size_of_task(SetEntry::serve));
    }
}
