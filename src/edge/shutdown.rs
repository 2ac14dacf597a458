//! From the signal to the end: named phases that every part can watch, and one deadline.
//!
//! SIGTERM or SIGINT starts the drain, after `server.lame_duck`; a second one ends the process at once, whatever it is
//! doing, and so does the first one while the process starts. Nothing that was acknowledged is lost by that: it was
//! committed before. SIGHUP has keys, certificate and country file read again, and ends nothing.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::time::Instant;

/// How far the process is. It only goes forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Serving,
    /// Not ready; all else goes on, new connections included, until load balancers have noticed.
    LameDuck,
    /// Not ready, no new connections; what was received is committed and acknowledged. All of it ends by then.
    Draining {
        until: Instant,
    },
    /// Nothing is served any more; tasks that are left stop where they are.
    Stopped,
}

/// Leads the process from phase to phase. Kept by the task that waits for the end.
#[derive(Debug)]
pub struct Shutdown {
    phase: watch::Sender<Phase>,
    lame_duck: Duration,
    drain_timeout: Duration,
}

/// The handle by which a part learns of the end.
#[derive(Clone, Debug)]
pub struct Stop {
    phase: watch::Receiver<Phase>,
}

impl Shutdown {
    /// A signal starts the drain at once.
    pub fn new(drain_timeout: Duration) -> Self {
        Self::with_lame_duck(Duration::ZERO, drain_timeout)
    }

    /// A signal starts the drain after `lame_duck`.
    pub fn with_lame_duck(lame_duck: Duration, drain_timeout: Duration) -> Self {
        Shutdown { phase: watch::Sender::new(Phase::Serving), lame_duck, drain_timeout }
    }

    /// A handle for a part.
    pub fn stop(&self) -> Stop {
        Stop { phase: self.phase.subscribe() }
    }

    /// Lets the parts know that the drain will begin; once it has begun, nothing.
    fn announce(&self) {
        self.advance(Phase::LameDuck);
    }

    /// Begins the drain; once it has begun, nothing.
    pub fn drain(&self) {
        self.advance(Phase::Draining { until: Instant::now() + self.drain_timeout });
    }

    /// Says that all parts have ended, or that the deadline is over.
    pub fn finish(&self) {
        self.advance(Phase::Stopped);
    }

    fn advance(&self, next: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = match *phase {
                Phase::Serving => true,
                Phase::LameDuck => next != Phase::LameDuck,
                Phase::Draining { .. } => next == Phase::Stopped,
                Phase::Stopped => false,
            };
            if forward {
                *phase = next;
            }
            forward
        });
    }
}

impl Stop {
    pub fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Whether the process is to end, and no new clients should come. It may still serve them.
    pub fn is_ending(&self) -> bool {
        self.phase() > Phase::Serving
    }

    /// Takes a lock for a moment: ask once per connection or request, not per frame.
    pub fn is_draining(&self) -> bool {
        self.phase() > Phase::LameDuck
    }

    /// Resolves when the drain begins, or at once when it has begun, to the moment by which it has to end. A loop makes
    /// this future once and polls it again and again: it is cheap to wait on and not to make.
    pub fn draining(&self) -> impl Future<Output = Instant> + Send + use<> {
        let mut phase = self.phase.clone();
        async move {
            match reached(&mut phase, |phase| phase > Phase::LameDuck).await {
                Phase::Draining { until } => until,
                Phase::Serving | Phase::LameDuck | Phase::Stopped => Instant::now(),
            }
        }
    }

    /// Resolves when the process [is to end](Self::is_ending).
    pub fn ending(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut phase = self.phase.clone();
        async move {
            reached(&mut phase, |phase| phase > Phase::Serving).await;
        }
    }

    /// Resolves when nothing is to be served any more.
    pub fn stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut phase = self.phase.clone();
        async move {
            reached(&mut phase, |phase| phase == Phase::Stopped).await;
        }
    }
}

/// Without a [`Shutdown`] there is nothing left to wait for: that is the end, too.
async fn reached(phase: &mut watch::Receiver<Phase>, wanted: impl Fn(Phase) -> bool) -> Phase {
    phase.wait_for(|phase| wanted(*phase)).await.map_or(Phase::Stopped, |phase| *phase)
}

/// Hears SIGTERM, SIGINT and SIGHUP, from the moment it is made to the end of the process. They are heard on a thread of
/// their own, so that a busy or stuck runtime cannot keep one waiting.
///
/// The kernel's own way would end the process at a SIGHUP, and as process 1 it would let a SIGTERM do nothing. Until the
/// process [is led](Signals::lead) nothing is served, so a SIGTERM or SIGINT ends it at once.
#[derive(Clone)]
pub struct Signals {
    led: Arc<Mutex<Led>>,
}

#[derive(Default)]
struct Led {
    by: Option<Arc<Lead>>,
    /// A SIGHUP came before: files may have changed after they were read.
    hung_up: bool,
    /// Called before an exit without a drain.
    before_exit: Option<Box<dyn Fn() + Send>>,
}

/// The reactions to signals.
struct Lead {
    shutdown: Arc<Shutdown>,
    on_hangup: Box<dyn Fn() + Send + Sync>,
}

impl Signals {
    /// From the return of this call on no signal is missed.
    pub fn listen() -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let heard = {
            let _context = runtime.enter();
            Heard::new()?
        };
        let signals = Signals { led: Arc::default() };
        let own = signals.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            let last = runtime.block_on(own.obey(heard));
            own.exit(last);
        })?;
        Ok(signals)
    }

    /// Sets the function that is called before an exit without a drain, in place of the one set before.
    pub fn before_exit(&self, call: impl Fn() + Send + 'static) {
        self.led.lock().before_exit = Some(Box::new(call));
    }

    /// From now on the process drains at the first SIGTERM or SIGINT, after the lame duck, and exits at the second.
    /// `on_hangup` is called at every SIGHUP; here, if one came before.
    pub fn lead(&self, shutdown: &Arc<Shutdown>, on_hangup: impl Fn() + Send + Sync + 'static) {
        let lead = Arc::new(Lead { shutdown: shutdown.clone(), on_hangup: Box::new(on_hangup) });
        let hung_up = {
            let mut led = self.led.lock();
            led.by = Some(lead.clone());
            std::mem::take(&mut led.hung_up)
        };
        if hung_up {
            (lead.on_hangup)();
        }
    }

    /// Returns how the process ends when it ends without a drain.
    async fn obey(&self, mut heard: Heard) -> Last {
        let first = heard.next(self).await;
        let Some(lead) = self.led.lock().by.clone() else { return Last::AtStart(first) };
        if let Some(second) = heard.wait_while_lame_duck(&first, &lead.shutdown, self).await {
            return Last::Second(second);
        }
        tracing::info!(event = "draining", signal = first.name, "draining");
        lead.shutdown.drain();
        Last::Second(heard.next(self).await)
    }

    fn hang_up(&self) {
        let lead = {
            let mut led = self.led.lock();
            led.hung_up = led.by.is_none();
            led.by.clone()
        };
        if let Some(lead) = lead {
            (lead.on_hangup)();
        }
    }

    fn exit(&self, last: Last) -> ! {
        let exit_code = match last {
            Last::AtStart(signal) => {
                tracing::info!(event = "stopped", signal = signal.name, "stopped before anything was served");
                0
            }
            Last::Second(signal) => {
                tracing::warn!(event = "aborted", signal = signal.name, "second signal; exiting without draining");
                signal.exit_code
            }
        };
        // Kept, so that the process is not led any more.
        let led = self.led.lock();
        led.before_exit.iter().for_each(|call| call());
        std::process::exit(exit_code)
    }
}

enum Last {
    AtStart(Received),
    Second(Received),
}

struct Heard {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Heard {
    fn new() -> io::Result<Self> {
        Ok(Heard {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Returns the signal that ends the wait early.
    async fn wait_while_lame_duck(
        &mut self,
        first: &Received,
        shutdown: &Shutdown,
        signals: &Signals,
    ) -> Option<Received> {
        let lame_duck = shutdown.lame_duck;
        if lame_duck.is_zero() {
            return None;
        }
        let seconds = lame_duck.as_secs_f64();
        tracing::info!(event = "lame_duck", signal = first.name, seconds, "not ready; serving on before the drain");
        shutdown.announce();
        tokio::time::timeout(lame_duck, self.next(signals)).await.ok()
    }

    /// The next one that asks for the end.
    async fn next(&mut self, signals: &Signals) -> Received {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return Received { name: "SIGTERM", exit_code: 128 + 15 },
                _ = self.interrupt.recv() => return Received { name: "SIGINT", exit_code: 128 + 2 },
                _ = self.hangup.recv() => signals.hang_up(),
            }
        }
    }
}

struct Received {
    name: &'static str,
    /// As a shell reports a process that this signal ended.
    exit_code: i32,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn a_hangup_before_the_process_is_led_is_made_up_for_once() {
        let signals = Signals { led: Arc::default() };
        signals.hang_up();
        signals.hang_up();
        let reloads = Arc::new(AtomicUsize::new(0));
        let counted = reloads.clone();
        signals.lead(&Arc::new(Shutdown::new(Duration::ZERO)), move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(reloads.load(Ordering::Relaxed), 1);
        signals.hang_up();
        assert_eq!(reloads.load(Ordering::Relaxed), 2);
    }

    #[tokio::test]
    async fn phases_go_forward_only_and_the_deadline_is_that_of_the_first_drain() {
        let shutdown = Shutdown::new(Duration::from_secs(10));
        let stop = shutdown.stop();
        assert_eq!(stop.phase(), Phase::Serving);
        let began = Instant::now();
        shutdown.drain();
        let draining = stop.phase();
        let Phase::Draining { until } = draining else { panic!("not draining: {draining:?}") };
        assert!(until >= began + Duration::from_secs(10));
        tokio::time::sleep(Duration::from_millis(2)).await;
        shutdown.drain();
        assert_eq!(stop.phase(), draining);
        shutdown.finish();
        shutdown.drain();
        assert_eq!(stop.phase(), Phase::Stopped);
    }

    #[tokio::test]
    async fn handles_learn_of_a_drain_before_and_after_it_begins() {
        let shutdown = Shutdown::new(Duration::from_secs(10));
        let stop = shutdown.stop();
        let (early, end) = (tokio::spawn(stop.draining()), tokio::spawn(stop.stopped()));
        tokio::task::yield_now().await;
        assert!(!early.is_finished() && !stop.is_draining());
        shutdown.drain();
        let until = early.await.expect("no panic");
        assert_eq!(stop.draining().await, until);
        assert!(stop.is_draining() && !end.is_finished());
        shutdown.finish();
        end.await.expect("no panic");
    }

    #[tokio::test]
    async fn a_lame_duck_is_ending_and_does_not_drain_yet() {
        let shutdown = Shutdown::with_lame_duck(Duration::from_secs(5), Duration::from_secs(10));
        let stop = shutdown.stop();
        let (ending, draining) = (tokio::spawn(stop.ending()), tokio::spawn(stop.draining()));
        assert!(!stop.is_ending());
        shutdown.announce();
        ending.await.expect("no panic");
        assert!(stop.is_ending() && !stop.is_draining() && !draining.is_finished());
        shutdown.drain();
        draining.await.expect("no panic");
        shutdown.announce();
        assert!(stop.is_ending() && stop.is_draining());
    }

    #[tokio::test]
    async fn dropping_the_shutdown_drains_and_stops_its_handles() {
        let shutdown = Shutdown::new(Duration::from_secs(10));
        let stop = shutdown.stop();
        drop(shutdown);
        stop.draining().await;
        stop.stopped().await;
    }
}
