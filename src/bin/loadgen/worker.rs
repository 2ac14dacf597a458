//! A child process with its crowds: told what to do on standard input, and gone with it.

use std::io::{self, BufRead, Lines, StdinLock};
use std::panic;
use std::process::exit;
use std::sync::Arc;
use std::thread;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::crowd;
use super::message::{Order, Task};

/// Orders that a crowd has not yet looked at.
const ORDERS_MAX: usize = 4;

/// Serves its coordinator until that is gone.
pub fn run() -> Result<(), String> {
    let said = panic::take_hook();
    // A crowd that is gone must not be waited for.
    panic::set_hook(Box::new(move |info| {
        said(info);
        exit(101)
    }));
    let mut lines = io::stdin().lock().lines();
    let task: Arc<Task> = Arc::new(line(&mut lines)?);
    let crowds = (task.crowds.0..task.crowds.1).map(|crowd| {
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let task = task.clone();
        let name = format!("crowd {crowd}");
        let spawned = thread::Builder::new().name(name).spawn(move || crowd::run(&task, crowd, orders));
        spawned.map(|_| sender).map_err(|error| format!("no thread: {error}"))
    });
    let crowds: Vec<mpsc::Sender<Order>> = crowds.collect::<Result<_, _>>()?;
    while let Ok(order) = line::<Order>(&mut lines) {
        for crowd in &crowds {
            // A crowd that has ended has said why.
            let _ = crowd.blocking_send(order);
        }
    }
    exit(0)
}

/// The next line, as what it says.
pub fn line<T: DeserializeOwned>(lines: &mut Lines<StdinLock>) -> Result<T, String> {
    let line = lines.next().ok_or("nobody says what is to be done")?.map_err(|error| error.to_string())?;
    serde_json::from_str(&line).map_err(|error| format!("this is not for people to start: {error}"))
}
