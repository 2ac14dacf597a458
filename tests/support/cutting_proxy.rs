//! A way to a server that is cut now and then: before a request, in its middle, between it and its reply, and with
//! requests that arrive after their sender has given them up. When follows from a seed, as far as the network's order
//! does.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::LocalSet;
use tokio::time::{sleep, timeout};

const CHUNK_BYTES: usize = 64 * 1024;
/// So long a request that arrives late is on its way at most, milliseconds.
const LATE_MS_MAX: u64 = 400;

/// Where a connection is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// The request does not arrive.
    Before,
    /// Half of its bytes arrive.
    Middle,
    /// It arrives, and nothing of its reply does.
    Reply,
    /// It arrives, and half of the bytes of its reply do.
    HalfReply,
    /// It arrives when its sender has long connected anew.
    Late,
}

impl Cut {
    pub const ALL: [Cut; 5] = [Cut::Before, Cut::Middle, Cut::Reply, Cut::HalfReply, Cut::Late];
}

/// What may be cut: requests with one of these words, each with its probability.
pub type Targets = &'static [(&'static [u8], f64)];

/// How often it was cut, by where.
type Cuts = [AtomicU64; Cut::ALL.len()];

pub struct CuttingProxy {
    port: u16,
    cuts: Arc<Cuts>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Line {
    server: u16,
    targets: Targets,
    rng: Rc<RefCell<SmallRng>>,
    cuts: Arc<Cuts>,
}

impl CuttingProxy {
    /// To the server at that port of this machine.
    pub fn start(server: u16, targets: Targets, seed: u64) -> Self {
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        listener.set_nonblocking(true).expect("a socket");
        let port = listener.local_addr().expect("an address").port();
        let cuts = Arc::<Cuts>::default();
        let (stop, stopped) = oneshot::channel::<()>();
        let of_thread = cuts.clone();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
            let rng = Rc::new(RefCell::new(SmallRng::seed_from_u64(seed)));
            let accept = async {
                let listener = TcpListener::from_std(listener).expect("a listener");
                while let Ok((client, _)) = listener.accept().await {
                    let line = Line { server, targets, rng: rng.clone(), cuts: of_thread.clone() };
                    // A connection that is broken is what this is for.
                    tokio::task::spawn_local(async move { drop(line.carry(client).await) });
                }
            };
            LocalSet::new().block_on(&runtime, async {
                tokio::select! {
                    () = accept => {}
                    _ = stopped => {}
                }
            });
        });
        CuttingProxy { port, cuts, stop: Some(stop), thread: Some(thread) }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often it has cut there.
    pub fn cuts(&self, cut: Cut) -> u64 {
        self.cuts[cut as usize].load(Ordering::Relaxed)
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Line {
    async fn carry(self, mut client: TcpStream) -> io::Result<()> {
        let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, self.server)).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut request, mut reply) = (vec![0; CHUNK_BYTES], vec![0; CHUNK_BYTES]);
        loop {
            tokio::select! {
                read = client.read(&mut request) => {
                    let bytes = &request[..read?];
                    match self.cut(bytes) {
                        _ if bytes.is_empty() => return Ok(()),
                        None => server.write_all(bytes).await?,
                        Some(cut) => return Self::end(cut, bytes, client, server).await,
                    }
                }
                read = server.read(&mut reply) => match read? {
                    0 => return Ok(()),
                    count => client.write_all(&reply[..count]).await?,
                },
            }
        }
    }

    fn cut(&self, request: &[u8]) -> Option<Cut> {
        let has = |word: &[u8]| request.windows(word.len()).any(|window| window == word);
        let (_, probability) = self.targets.iter().find(|(word, _)| has(word))?;
        let mut rng = self.rng.borrow_mut();
        let cut = rng.random_bool(*probability).then(|| Cut::ALL[rng.random_range(0..Cut::ALL.len())])?;
        self.cuts[cut as usize].fetch_add(1, Ordering::Relaxed);
        Some(cut)
    }

    async fn end(cut: Cut, request: &[u8], mut client: TcpStream, mut server: TcpStream) -> io::Result<()> {
        let mut reply = vec![0; CHUNK_BYTES];
        match cut {
            Cut::Before => {}
            Cut::Middle => server.write_all(&request[..request.len() / 2]).await?,
            Cut::Reply | Cut::HalfReply => {
                server.write_all(request).await?;
                let count = server.read(&mut reply).await?;
                if cut == Cut::HalfReply {
                    client.write_all(&reply[..count / 2]).await?;
                }
            }
            Cut::Late => {
                drop(client);
                sleep(Duration::from_millis(request.len() as u64 % LATE_MS_MAX)).await;
                server.write_all(request).await?;
                // It is done before the server sees the end of the connection.
                let _ = timeout(Duration::from_secs(1), server.read(&mut reply)).await;
            }
        }
        Ok(())
    }
}
