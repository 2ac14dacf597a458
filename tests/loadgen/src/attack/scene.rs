//! The state that the connections of an attacker share.

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::sync::{Notify, OnceCell};
use tokio::time::sleep;

use super::super::dial::{self, DialError, Dialed};
use super::super::dice::Dice;
use super::super::target::{Credentials, Target, Tokens};
use super::super::text::Names;
use super::counters::Counters;
use super::ending::Ending;
use super::plan::Attack;

const TOKEN_LIFE: Duration = Duration::from_secs(3600);
const PORT_FIRST: u64 = 20_000;
const PORTS: u64 = 40_000;
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// The first line to an attacker.
#[derive(Deserialize, Serialize)]
pub struct Assault {
    pub attack: Attack,
    pub connections: u64,
    pub per_second: f64,
    /// The time to wait after the last connection was opened; `open_max`: how many may then still be open.
    pub patience: Duration,
    pub open_max: u64,
    /// The time of the first connection, milliseconds since 1970.
    pub at: u64,
    pub target: Target,
    /// The gateway's probe listener, for its metrics.
    pub admin: Target,
    pub credentials: Credentials,
    /// The number of addresses that its connections take in turns.
    pub addresses: u8,
    /// The number of this run, unique to it.
    pub run: u64,
    /// The first user of the attacker.
    pub first_mid: u64,
}

pub struct Scene {
    pub assault: Assault,
    tokens: Tokens,
    dice: RefCell<Dice>,
    /// Users with stored records.
    written: RefCell<HashSet<u64>>,
    another_is_written: Notify,
    all_are_closed: OnceCell<()>,
}

impl Scene {
    pub fn new(assault: Assault) -> Self {
        let tokens = Tokens::new(&assault.credentials, TOKEN_LIFE);
        let dice = RefCell::new(Dice::new(assault.run));
        Scene {
            assault,
            tokens,
            dice,
            written: RefCell::default(),
            another_is_written: Notify::new(),
            all_are_closed: OnceCell::new(),
        }
    }

    /// The user of this number.
    pub fn names(&self, user: u64) -> Names {
        Names { run: self.assault.run, mid: self.assault.first_mid + user }
    }

    pub fn token(&self, user: u64) -> String {
        self.tokens.of(self.assault.first_mid + user)
    }

    /// A key for the frames of a client.
    pub fn mask(&self) -> u32 {
        self.dice.borrow_mut().roll() as u32
    }

    pub async fn connect(&self, number: u64) -> Result<TcpStream, DialError> {
        let target = self.assault.target.address;
        dial::connect(dial::socket(target, self.source(number))?, target).await
    }

    /// A welcomed socket of this user.
    pub async fn enter(&self, number: u64, user: u64) -> Result<Dialed, DialError> {
        let stream = self.connect(number).await?;
        dial::enter(&self.assault.target, stream, &self.token(user)).await
    }

    pub fn written(&self, user: u64) {
        self.written.borrow_mut().insert(user);
        self.another_is_written.notify_waiters();
    }

    pub async fn wait_until_written(&self, user: u64) {
        while !self.written.borrow().contains(&user) {
            self.another_is_written.notified().await;
        }
    }

    /// Waits until the gateway has closed as many connections with this code as this attack has. A client that does not
    /// read cannot see its close, so one task reads the metrics for all.
    pub async fn wait_until_all_closed(&self, code: u16) {
        let kind = Ending::Closed(code).to_string();
        let closed = async {
            loop {
                if let Ok(counters) = Counters::read(&self.assault.admin).await
                    && counters.of(&kind) >= self.assault.connections
                {
                    return;
                }
                sleep(LOOK_EVERY).await;
            }
        };
        self.all_are_closed.get_or_init(|| closed).await;
    }

    /// A source address, different in each run. Its last number is 2 or more; the last number of honest sockets is 1.
    pub fn source(&self, number: u64) -> Option<SocketAddr> {
        let IpAddr::V4(_) = self.assault.target.address.ip() else { return None };
        let [.., high, low] = (self.assault.run % 0xfe00).to_be_bytes();
        let addresses = u64::from(self.assault.addresses);
        let address = Ipv4Addr::new(127, high + 1, low, 2 + (number % addresses) as u8);
        Some(SocketAddr::from((address, (PORT_FIRST + number / addresses % PORTS) as u16)))
    }
}
