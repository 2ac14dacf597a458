//! The child processes that hold the sockets, seen from their coordinator.

use tokio::sync::mpsc;

use super::end::{self, End};
use super::load::Load;
use super::message::{Message, Order, Task};
use super::offspring::Offspring;
use super::target::{Credentials, Target, wall_ms};

/// Descriptors that a child needs beside its sockets.
const DESCRIPTORS_SPARE: u64 = 100;
const MESSAGES_MAX: usize = 1024;

pub struct Workers {
    children: Vec<Offspring>,
    messages: mpsc::Receiver<Result<Message, String>>,
    crowds: u32,
}

impl Workers {
    pub fn start(load: &Load, targets: &[Target], credentials: &Credentials) -> Result<Self, String> {
        let processes = processes(load)?;
        let crowds = processes * load.threads;
        let run = wall_ms() / 1000;
        let (sender, messages) = mpsc::channel(MESSAGES_MAX);
        let mut children = Vec::new();
        for process in 0..processes {
            let mut child = Offspring::of_myself("crowds")?;
            child.tell(&Task {
                load: load.clone(),
                targets: targets.to_vec(),
                credentials: credentials.clone(),
                run,
                crowds: (process * load.threads, (process + 1) * load.threads),
                crowds_in_all: crowds,
            })?;
            let (_, nothing) = mpsc::channel(1);
            tokio::spawn(forward(std::mem::replace(&mut child.lines, nothing), sender.clone()));
            children.push(child);
        }
        Ok(Workers { children, messages, crowds })
    }

    pub fn pids(&self) -> Vec<u32> {
        self.children.iter().map(Offspring::pid).collect()
    }

    pub fn crowds(&self) -> u32 {
        self.crowds
    }

    pub fn order(&mut self, order: Order) -> Result<(), String> {
        self.children.iter_mut().try_for_each(|child| child.tell(&order))
    }

    /// Handles messages until each crowd has sent the expected one; `take` returns whether a message was that one.
    pub async fn receive(&mut self, take: impl FnMut(Message) -> bool) -> Result<(), String> {
        self.receive_until(None, take).await
    }

    /// Like `receive`, for a load that `end` ends: the crowds are told of the end.
    pub async fn receive_until(
        &mut self,
        end: Option<End>,
        mut take: impl FnMut(Message) -> bool,
    ) -> Result<(), String> {
        let mut ends = std::pin::pin!(end::of(end));
        let (mut waiting, mut has_ended) = (self.crowds, false);
        while waiting > 0 {
            let message = tokio::select! {
                message = self.messages.recv() => message.ok_or("no child process is left")??,
                () = &mut ends, if !has_ended => {
                    has_ended = true;
                    self.order(Order::End)?;
                    continue;
                }
            };
            match message {
                Message::Failed { why } => return Err(why),
                message => waiting -= u32::from(take(message)),
            }
        }
        Ok(())
    }
}

/// Each crowd needs at least one socket, and each process has a limit of descriptors.
fn processes(load: &Load) -> Result<u32, String> {
    let limit = rlimit::increase_nofile_limit(u64::MAX).map_err(|error| format!("the limit of open files: {error}"))?;
    let each = limit.saturating_sub(DESCRIPTORS_SPARE).max(1);
    let needed = load.sockets.div_ceil(each).max(1);
    let processes = if load.processes == 0 { needed as u32 } else { load.processes };
    if u64::from(processes) < needed {
        return Err(format!("--processes must be at least {needed}: each may open {limit} files"));
    }
    if load.sockets < u64::from(processes * load.threads) {
        return Err("there are more threads than sockets".to_owned());
    }
    Ok(processes)
}

async fn forward(mut lines: mpsc::Receiver<String>, messages: mpsc::Sender<Result<Message, String>>) {
    while let Some(line) = lines.recv().await {
        let message = serde_json::from_str(&line).map_err(|_| format!("a child process said: {line}"));
        if messages.send(message).await.is_err() {
            return;
        }
    }
    // Only a coordinator that still waits for messages reads this error.
    let _ = messages.send(Err("a child process has ended".to_owned())).await;
}
