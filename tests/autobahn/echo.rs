//! The socket of the gateway with nothing behind it: every message goes back as it came.
//!
//! `autobahn-echo` prints its address and serves until it is killed. It differs from the gateway in its limits, which
//! are out of the way (some cases send 16 MiB in a message, others a message in 16,384 fragments), and in that it keeps
//! binary messages. One thread serves all connections, as each edge thread of the gateway does.

use std::io::Write;
use std::rc::Rc;
use std::time::Duration;

use heartline::config::DEFAULTS;
use heartline::edge::connection::decoder::Received;
use heartline::edge::connection::scratch_buffers::ScratchBuffers;
use heartline::edge::connection::socket::Socket;
use heartline::edge::connection::stream::Stream;
use heartline::edge::limits::config::{LimitsConfig, SocketConfig};
use heartline::edge::metrics::Metrics;
use prometheus_client::registry::Registry;
use serde::Deserialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;

const MESSAGE_BYTES_MAX: usize = 32 << 20;
const PATIENCE: Duration = Duration::from_secs(60);

/// What a socket is told; the rest of the settings is not read.
#[derive(Deserialize)]
struct Settings {
    limits: LimitsConfig,
    socket: SocketConfig,
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut settings: Settings = toml::from_str(DEFAULTS).expect("the defaults");
    settings.limits.frame_bytes = MESSAGE_BYTES_MAX;
    settings.limits.write_buffer_bytes = 2 * MESSAGE_BYTES_MAX;
    settings.limits.bytes_per_second = u32::MAX;
    settings.limits.frames_per_second = u32::MAX;
    settings.socket.message_timeout = PATIENCE;
    settings.socket.write_timeout = PATIENCE;

    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    println!("{}", listener.local_addr().expect("an address"));
    std::io::stdout().flush().expect("somebody reads");
    let metrics = Metrics::new(std::iter::empty(), &mut Registry::default());
    let bench = ScratchBuffers::new(&settings.limits, &settings.socket, metrics);
    let connections = LocalSet::new();
    let accepting = async {
        loop {
            let (stream, _) = listener.accept().await.expect("a connection");
            tokio::task::spawn_local(echo(stream, bench.clone()));
        }
    };
    connections.run_until(accepting).await;
}

async fn echo(mut stream: TcpStream, bench: Rc<ScratchBuffers>) {
    stream.set_nodelay(true).expect("a socket of TCP");
    // Autobahn waits for the answer to its handshake, so there is nothing left over.
    if let Err(error) = tokio_tungstenite::accept_async(&mut stream).await {
        return eprintln!("no handshake: {error}");
    }
    let mut socket = Socket::new(Stream::Plain(stream), &[], bench);
    loop {
        let said = match socket.receive().await {
            Received::Text(text) => {
                socket.send_and_flush(|out| out.text(|buffer| buffer.extend_from_slice(text.as_bytes()))).await
            }
            Received::Binary(bytes) => {
                socket.send_and_flush(|out| out.binary(|buffer| buffer.extend_from_slice(&bytes))).await
            }
            Received::Alive => Ok(()),
            Received::Closed(code) => return socket.answer_close(code).await,
            Received::Lost => return socket.lose(),
            Received::Wrong(reason) => return socket.close(reason).await,
        };
        if said.is_err() {
            return socket.lose();
        }
    }
}
