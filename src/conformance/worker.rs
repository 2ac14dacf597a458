//! A worker of the harness: it asks what to do next, does it, and asks again. So that it asks says that the last
//! instruction is done.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// A worker that does not ask for so long has gone.
const PATIENCE: Duration = Duration::from_secs(20);
/// Requests of one worker that wait. One is usual; more are of requests that it has given up.
pub const ASKERS_MAX: usize = 8;

/// A request that waits for an instruction.
pub struct Asker {
    /// Where the harness has found the kit: a client is to find its gateway there, too.
    pub url: String,
    pub answer: oneshot::Sender<Value>,
}

/// It asks no more.
#[derive(Debug)]
pub struct Gone;

pub struct Worker {
    askers: mpsc::Receiver<Asker>,
    asking: Option<Asker>,
}

impl Worker {
    pub fn new(askers: mpsc::Receiver<Asker>) -> Self {
        Worker { askers, asking: None }
    }

    /// Where the harness has found the kit.
    pub async fn url(&mut self) -> Result<String, Gone> {
        let asker = self.next().await?;
        let url = asker.url.clone();
        self.asking = Some(asker);
        Ok(url)
    }

    /// Gives an instruction, and resolves when it is done.
    pub async fn instruct(&mut self, instruction: Value) -> Result<(), Gone> {
        while !self.give(instruction.clone()).await? {}
        self.asking = Some(self.next().await?);
        Ok(())
    }

    /// There is nothing more to do.
    pub async fn dismiss(&mut self) {
        let _ = self.give(json!({"do": "done"})).await;
    }

    /// Returns whether somebody was there to take it.
    async fn give(&mut self, instruction: Value) -> Result<bool, Gone> {
        Ok(self.next().await?.answer.send(instruction).is_ok())
    }

    async fn next(&mut self) -> Result<Asker, Gone> {
        if let Some(asker) = self.asking.take() {
            return Ok(asker);
        }
        timeout(PATIENCE, self.askers.recv()).await.ok().flatten().ok_or(Gone)
    }
}
