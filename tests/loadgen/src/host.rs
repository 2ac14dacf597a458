//! The common parts of the compared servers: threads, listeners, buffers, the end.

use std::future::Future;
use std::io::{self, BufRead};
use std::net::{SocketAddr, TcpListener as StdListener};
use std::thread;

use heartline::edge::listener;
use serde::{Deserialize, Serialize};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use super::naive_store::Place;
use super::target::Credentials;
use super::worker::line;

/// As by the gateway's defaults.
const FRAME_BYTES: usize = 131_072;
const WRITE_BUFFER_BYTES: usize = 1_048_576;

/// The first line to a server of this program.
#[derive(Deserialize, Serialize)]
pub struct Setting {
    pub threads: usize,
    pub read_buffer: usize,
    pub credentials: Credentials,
    /// The store of the naive gateway.
    pub place: Place,
}

impl Setting {
    pub fn websocket(&self) -> WebSocketConfig {
        WebSocketConfig::default()
            .read_buffer_size(self.read_buffer)
            .write_buffer_size(WRITE_BUFFER_BYTES / 2)
            .max_write_buffer_size(WRITE_BUFFER_BYTES)
            .max_message_size(Some(FRAME_BYTES))
            .max_frame_size(Some(FRAME_BYTES))
    }
}

/// Reads the setting from standard input.
pub fn setting() -> Result<Setting, String> {
    line(&mut io::stdin().lock().lines())
}

/// Serves with one current-thread runtime and listener per thread, as the gateway does, until standard input ends.
pub fn serve<C, F>(threads: usize, converse: C) -> Result<(), String>
where
    C: Fn(TcpStream) -> F + Clone + Send + 'static,
    F: Future<Output = ()> + 'static,
{
    let listeners =
        listener::bind(SocketAddr::from(([127, 0, 0, 1], 0)), threads).map_err(|error| error.to_string())?;
    let address = listeners[0].local_addr().map_err(|error| error.to_string())?;
    for listener in listeners {
        let converse = converse.clone();
        let accepting = move || {
            let runtime = Builder::new_current_thread().enable_all().build()?;
            LocalSet::new().block_on(&runtime, accept(listener, converse))
        };
        thread::spawn(move || accepting().unwrap_or_else(|error| eprintln!("loadgen: cannot serve: {error}")));
    }
    println!("loadgen is listening on http://{address}");
    io::copy(&mut io::stdin().lock(), &mut io::sink()).map_err(|error| error.to_string())?;
    std::process::exit(0)
}

async fn accept<C, F>(listener: StdListener, converse: C) -> io::Result<()>
where
    C: Fn(TcpStream) -> F,
    F: Future<Output = ()> + 'static,
{
    let listener = TcpListener::from_std(listener)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        spawn_local(converse(stream));
    }
}
