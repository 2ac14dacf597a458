//! A child process with its crowds. It takes orders on standard input, and ends with it.

use std::io::{self, BufRead, Lines, StdinLock};
use std::panic;
use std::process::exit;
use std::sync::Arc;
use std::thread;

use serde::de::DeserializeOwned;
use tokio::sync::mpsc;

use super::crowd;
use super::message::{Order, Task};

/// The most orders that a crowd has not taken yet.
const ORDERS_MAX: usize = 4;

/// Serves the coordinator until its pipe closes.
pub fn run() -> Result<(), String> {
    let said = panic::take_hook();
    // A panic of a crowd ends the process, so that the coordinator does not wait for that crowd.
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
            // An ended crowd has reported its reason.
            let _ = crowd.blocking_send(order);
        }
    }
    exit(0)
}

/// Reads the next line.
pub fn line<T: DeserializeOwned>(lines: &mut Lines<StdinLock>) -> Result<T, String> {
    let line = lines.next().ok_or("standard input ended before the task")?.map_err(|error| error.to_string())?;
    serde_json::from_str(&line).map_err(|error| format!("this is not for people to start: {error}"))
}
