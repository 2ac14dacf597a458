//! Packers: they carry the changes of listed users to a bus, and take the users off the list.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Waker};

use heartline::model::ids::{Content, UserId};
use heartline::model::pack::{PackedForgetting, PackedRow, UserPack};
use heartline::storage::hot_store::optimistic::{TokenSource, UserStore, read_listed, unlist};
use tokio::sync::oneshot;

use crate::state_search::network::{Line, Network, Sender};

/// The numbers of packers begin here; those of gateways are smaller.
pub const PACKERS: usize = 1_000;
/// From a user's change, and from a pack, to when the user is due.
pub const INTERVAL_MS: u64 = 3_000;

/// What was sent, and what has arrived: of each the newest.
#[derive(Default)]
pub struct Bus {
    pub under_way: Vec<Message>,
    pub rows: HashMap<(UserId, Content), PackedRow>,
    pub forgetting: HashMap<UserId, PackedForgetting>,
}

pub struct Message {
    pub pack: UserPack,
    report: Option<oneshot::Sender<()>>,
}

impl Bus {
    fn send(&mut self, pack: UserPack) -> oneshot::Receiver<()> {
        let (report, reported) = oneshot::channel();
        self.under_way.push(Message { pack, report: Some(report) });
        reported
    }

    /// `again`: it arrives once more, later.
    pub fn deliver(&mut self, index: usize, again: bool) {
        let Message { pack, report } = self.under_way.swap_remove(index);
        if again {
            self.under_way.push(Message { pack: pack.clone(), report: None });
        }
        let UserPack { user, forgetting, rows } = pack;
        for row in rows {
            let known = self.rows.entry((user, row.content)).or_insert_with(|| row.clone());
            if row.version > known.version {
                *known = row;
            }
        }
        if let Some(forgetting) = forgetting {
            let known = self.forgetting.entry(user).or_insert_with(|| forgetting.clone());
            if forgetting.version > known.version {
                *known = forgetting;
            }
        }
        if let Some(report) = report {
            let _ = report.send(());
        }
    }
}

/// How a packer carries a user this time.
#[derive(Clone, Copy, Debug)]
pub struct Errand {
    pub user: UserId,
    pub now: u64,
    /// So many of the rows go in a message of their own.
    pub cut: usize,
    /// The user stays on the list, though that need not be.
    pub stays: bool,
}

pub struct Packer {
    pub number: usize,
    tokens: Arc<TokenSource>,
    network: Arc<Mutex<Network>>,
    bus: Arc<Mutex<Bus>>,
    under_way: Option<Pin<Box<dyn Future<Output = ()>>>>,
}

impl Packer {
    pub fn new(number: usize, network: &Arc<Mutex<Network>>, bus: &Arc<Mutex<Bus>>) -> Self {
        let tokens = Arc::new(TokenSource::new(number as u64));
        Packer { number, tokens, network: network.clone(), bus: bus.clone(), under_way: None }
    }

    fn sender(&self) -> Sender {
        usize::MAX - self.number
    }

    pub fn is_idle(&self) -> bool {
        self.under_way.is_none()
    }

    pub fn begin(&mut self, errand: Errand) {
        let line = Line { gateway: self.number, network: self.network.clone() };
        let (bus, tokens) = (self.bus.clone(), self.tokens.clone());
        self.under_way = Some(Box::pin(async move { carry(line, &bus, &tokens, errand).await }));
    }

    /// It forgets what it was doing; what it has sent is still done, or not.
    pub fn ends(&mut self) {
        self.under_way = None;
    }

    pub fn poll(&mut self) {
        let sender = self.sender();
        let Some(future) = &mut self.under_way else { return };
        self.network.lock().unwrap().polled = Some(sender);
        let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        self.network.lock().unwrap().polled = None;
        if polled.is_ready() {
            self.under_way = None;
        }
    }
}

async fn carry(line: Line, bus: &Mutex<Bus>, tokens: &TokenSource, errand: Errand) {
    let Errand { user, now, cut, stays } = errand;
    let Ok(mut listed) = read_listed(&line, &[user]).await else { return };
    let found = listed.remove(0);
    let UserPack { forgetting, mut rows, .. } = found.pack();
    let second = rows.split_off(cut.min(rows.len()));
    let packs = [UserPack { user, forgetting, rows }, UserPack { user, forgetting: None, rows: second }];
    let reports = packs.map(|pack| lock(bus).send(pack));
    for report in reports {
        if report.await.is_err() {
            return;
        }
    }
    if !stays && unlist(&line, tokens, std::slice::from_ref(&found), now).await.is_ok_and(|left| left[0]) {
        return;
    }
    let _ = line.put_off(&[(user, found.marks_until())], now + INTERVAL_MS).await;
}

fn lock(bus: &Mutex<Bus>) -> MutexGuard<'_, Bus> {
    bus.lock().unwrap()
}
