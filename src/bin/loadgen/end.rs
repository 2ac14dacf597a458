//! When a load ends that has no duration of its own.

use std::io;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

/// Longer than any load is let go on.
pub const NEVER: Duration = Duration::from_secs(86_400);

/// The load ends once the other side of this is gone.
#[derive(Clone)]
pub struct End(watch::Receiver<()>);

impl End {
    /// And what is to be dropped for it.
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

/// When it comes, if there is one.
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
    async fn it_comes_when_the_hand_is_gone() {
        let (hand, end) = End::by_hand();
        let coming = tokio::spawn(of(Some(end.clone())));
        tokio::task::yield_now().await;
        assert!(!coming.is_finished());
        drop(hand);
        coming.await.expect("no panic");
        end.comes().await;
    }
}
