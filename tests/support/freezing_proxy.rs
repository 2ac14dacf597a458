//! A way to a server that can freeze: nothing passes any more, and connections stay, as if the machine hung. What was
//! held back arrives when it thaws, however late that is.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const CHUNK_BYTES: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    /// It freezes before the first request with these bytes.
    Armed(&'static [u8]),
    Frozen,
}

type Shared = Arc<(Mutex<State>, Condvar)>;

/// Its threads end with the process.
pub struct FreezingProxy {
    port: u16,
    shared: Shared,
}

impl FreezingProxy {
    /// To the server at that port of this machine.
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let shared: Shared = Arc::new((Mutex::new(State::Open), Condvar::new()));
        let of_thread = shared.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else { continue };
                let copy = |stream: &TcpStream| stream.try_clone().expect("a socket");
                let (requests, answers) = ((copy(&client), copy(&server)), (server, client));
                let (one, other) = (of_thread.clone(), of_thread.clone());
                thread::spawn(move || carry(requests, &one, true));
                thread::spawn(move || carry(answers, &other, false));
            }
        });
        FreezingProxy { port, shared }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn freeze(&self) {
        self.set(State::Frozen);
    }

    /// Freezes it once a request with these bytes comes.
    pub fn freeze_at(&self, bytes: &'static [u8]) {
        self.set(State::Armed(bytes));
    }

    pub fn is_frozen(&self) -> bool {
        *self.shared.0.lock().expect("no panic") == State::Frozen
    }

    pub fn thaw(&self) {
        self.set(State::Open);
    }

    fn set(&self, state: State) {
        *self.shared.0.lock().expect("no panic") = state;
        self.shared.1.notify_all();
    }
}

fn carry((mut from, mut to): (TcpStream, TcpStream), shared: &Shared, requests: bool) {
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count @ 1..) = from.read(&mut chunk) {
        let bytes = &chunk[..count];
        let mut state = shared.0.lock().expect("no panic");
        if let State::Armed(word) = *state
            && requests
            && bytes.windows(word.len()).any(|window| window == word)
        {
            *state = State::Frozen;
        }
        drop(shared.1.wait_while(state, |state| *state == State::Frozen).expect("no panic"));
        if to.write_all(bytes).is_err() {
            break;
        }
    }
    // The other way may still have something.
    let _ = to.shutdown(std::net::Shutdown::Write);
}
