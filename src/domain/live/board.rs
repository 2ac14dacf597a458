//! The live numbers published last, for any number of readers.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::sync::watch;

use model::ids::Content;
use model::live::{Counts, MINUTES, Ranking, SECONDS, Shares, Visit};

/// The number of locks of the counts. The live thread holds one while it writes the counts that changed in a second.
const SHARDS: usize = 64;

/// The numbers of one second.
#[derive(Clone, Debug)]
pub struct LiveView {
    /// Milliseconds of the server's clock.
    pub at: u64,
    pub users: u64,
    pub sessions: u64,
    /// By kind.
    pub kinds: Vec<(u16, u32)>,
    pub top: Ranking,
    pub rising: Ranking,
    /// Users with a live session in one of the widget's kinds.
    pub widget_users: u64,
    /// The contents for the widget with their users, before those with too few are left out.
    pub widget_top: Vec<(Content, u32)>,
    pub shares: Shares,
    /// The oldest first.
    pub seconds: [u32; SECONDS],
    pub minutes: [u32; MINUTES],
    /// The newest first.
    pub visits: Vec<Visit>,
}

/// The newest view, and the counts of each content that is watched.
pub struct LiveBoard {
    newest: watch::Sender<Arc<LiveView>>,
    counts: Vec<RwLock<HashMap<Content, Counts>>>,
    hasher: RandomState,
}

impl LiveBoard {
    pub fn new() -> Arc<Self> {
        Arc::new(LiveBoard {
            newest: watch::Sender::new(Arc::new(LiveView::empty())),
            counts: (0..SHARDS).map(|_| RwLock::default()).collect(),
            hasher: RandomState::new(),
        })
    }

    pub fn newest(&self) -> Arc<LiveView> {
        self.newest.borrow().clone()
    }

    /// Follows the newest view; a slow reader skips views.
    pub fn follow(&self) -> watch::Receiver<Arc<LiveView>> {
        self.newest.subscribe()
    }

    pub fn counts(&self, content: Content) -> Counts {
        self.shard(content).read().get(&content).copied().unwrap_or_default()
    }

    pub fn publish(&self, view: LiveView, changed: Vec<(Content, Counts)>) {
        for (content, counts) in changed {
            let mut shard = self.shard(content).write();
            match counts.sessions {
                0 => drop(shard.remove(&content)),
                _ => drop(shard.insert(content, counts)),
            }
        }
        self.newest.send_replace(Arc::new(view));
    }

    fn shard(&self, content: Content) -> &RwLock<HashMap<Content, Counts>> {
        &self.counts[self.hasher.hash_one(content) as usize % self.counts.len()]
    }
}

impl LiveView {
    /// The contents that it names.
    pub fn contents(&self) -> impl Iterator<Item = Content> + '_ {
        let ranked = self.top.ranked.iter().chain(&self.rising.ranked).map(|ranked| ranked.content);
        ranked.chain(self.widget_contents()).chain(self.visits.iter().map(|visit| visit.content))
    }

    /// The contents that the widget may list.
    pub fn widget_contents(&self) -> impl Iterator<Item = Content> + '_ {
        self.widget_top.iter().map(|(content, _)| *content)
    }

    fn empty() -> Self {
        LiveView {
            at: 0,
            users: 0,
            sessions: 0,
            kinds: Vec::new(),
            top: Ranking::default(),
            rising: Ranking::default(),
            widget_users: 0,
            widget_top: Vec::new(),
            shares: Shares::default(),
            seconds: [0; SECONDS],
            minutes: [0; MINUTES],
            visits: Vec::new(),
        }
    }
}
