//! The end of a load that has no duration of its own.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

/// Longer than any load may last.
pub const NEVER: Duration = Duration::from_secs(86_400);

/// Ends a load when the sender is dropped.
#[derive(Clone)]
pub struct End(watch::Receiver<()>);

impl End {
    /// The sender and the end: dropping the sender ends the load.
    pub fn by_hand() -> (watch::Sender<()>, Self) {
        let (hand, end) = watch::channel(());
        (hand, End(end))
    }

    pub fn of_standard_input() -> Self {
        let (hand, end) = End::by_hand();
        thread::spawn(move || {
            let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
            drop(hand);
        });
        end
    }

    pub async fn comes(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Waits for the end, or for ever if there is none.
pub async fn of(end: Option<End>) {
    match end {
        Some(end) => end.comes().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_end_comes_when_the_sender_is_dropped() {
        let (hand, end) = End::by_hand();
        let coming = tokio::spawn(of(Some(end.clone())));
        tokio::task::yield_now().await;
        assert!(!coming.is_finished());
        drop(hand);
        coming.await.expect("no panic");
        end.comes().await;
    }
}
