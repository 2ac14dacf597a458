//! The state to be read before a user's changes are decided.

use std::collections::HashSet;

use super::contents::Contents;
use super::known::{Known, Need};
use crate::hot_store::Group;
use model::beat::Beat;
use model::change::{Action, Change};
use model::ids::{Content, UserId};
use model::rewards::claim::ClaimKey;
use model::rewards::rule::RuleSet;

/// The unknown state that the changes will need, as far as can be foreseen. Decisions find out the rest.
pub struct Needs<'r> {
    known: &'r Known,
    group: &'r Group,
    rows: HashSet<Content>,
    claims: HashSet<ClaimKey>,
    needs: Vec<Need>,
}

impl<'r> Needs<'r> {
    pub fn new(known: &'r Known, group: &'r Group) -> Self {
        let needs = if known.head.is_none() { vec![Need::Head] } else { Vec::new() };
        Needs { known, group, rows: HashSet::new(), claims: HashSet::new(), needs }
    }

    pub fn into_vec(self) -> Vec<Need> {
        self.needs
    }

    pub fn add(&mut self, change: &Change) {
        match &change.action {
            Action::Beat { beat, asks, .. } => {
                // The content may be new.
                if self.row(beat.content) && self.known.contents.count().is_none() {
                    self.once(Need::Contents);
                    self.once(Need::First(Contents::ALL_MAX + 1));
                }
                self.claims(change.user, beat, *asks);
            }
            Action::Delete { contents, .. } => {
                for content in contents {
                    self.row(*content);
                }
            }
            Action::Clear { .. } | Action::Recording { .. } | Action::Prune { .. } => {}
            Action::Erase { .. } => {
                if !self.known.all {
                    self.once(Need::All);
                    self.once(Need::ClaimRules);
                }
            }
        }
    }

    /// True: the row has to be read.
    fn row(&mut self, content: Content) -> bool {
        let unknown = !self.known.has_row(content);
        if unknown && self.rows.insert(content) {
            self.needs.push(Need::Row(content));
        }
        unknown
    }

    fn claims(&mut self, user: UserId, beat: &Beat, asks: RuleSet) {
        let rewards = &self.group.rewards;
        for index in rewards.may_apply(asks, beat, self.group.now).iter() {
            let key = ClaimKey::of(rewards.rules.get(index), rewards.today.day, user, beat.content);
            if self.known.claim(&key).is_none() && self.claims.insert(key.clone()) {
                self.needs.push(Need::Claim(key));
            }
        }
    }

    /// Adds one of the few needs without a content or key, once.
    fn once(&mut self, need: Need) {
        if !self.needs.contains(&need) {
            self.needs.push(need);
        }
    }
}
