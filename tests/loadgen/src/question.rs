//! A pending read of a member; one at a time.

use tokio::sync::oneshot;

use super::answer::Record;

/// Records, or the code of an error.
pub type Reading = Result<Vec<Option<Record>>, String>;

#[derive(Default)]
pub struct Question(Option<(u32, oneshot::Sender<Reading>)>);

impl Question {
    /// Registers the request with this number.
    pub fn asked(&mut self, seq: u32) -> oneshot::Receiver<Reading> {
        let (sender, receiver) = oneshot::channel();
        self.0 = Some((seq, sender));
        receiver
    }

    pub fn answered(&mut self, seq: Option<u32>, reading: Reading) {
        if let Some((_, asker)) = self.0.take_if(|(asked, _)| Some(*asked) == seq) {
            // The receiver may be gone.
            let _ = asker.send(reading);
        }
    }

    /// Drops the request. Its caller gets an error.
    pub fn forget(&mut self) {
        self.0 = None;
    }
}
