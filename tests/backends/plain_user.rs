//! What is kept of one user, as plain maps.

use std::collections::{BTreeMap, HashSet};
use std::convert::Infallible;

use heartline::model::decide::{AtHand, DeadContents, Drafted, StoredUser};
use heartline::model::forgetting::{ContentRow, Eviction, UserRow};
use heartline::model::ids::Content;
use heartline::model::rewards::claim::ClaimKey;

#[derive(Clone, Default)]
pub struct PlainUser {
    pub row: UserRow,
    /// None of them is empty.
    pub contents: BTreeMap<Content, ContentRow>,
    pub claims: HashSet<ClaimKey>,
}

impl PlainUser {
    pub fn store<C>(&mut self, drafted: Drafted<C>) {
        assert!(drafted.forgetting_changed || drafted.forgetting == self.row, "nothing changes untold");
        self.row = drafted.forgetting;
        if drafted.erased {
            self.contents.clear();
        }
        for draft in drafted.rows {
            let before = self.contents.remove(&draft.content).unwrap_or_default();
            assert!(draft.changed || before == draft.row, "nothing changes untold");
            if !draft.row.is_empty() {
                self.contents.insert(draft.content, draft.row);
            }
        }
        let counted = drafted.contents.is_none_or(|contents| contents as usize == self.contents.len());
        assert!(counted, "the decider counts what there is");
        if drafted.erased_claims.is_some() {
            self.claims.clear();
        }
        self.claims.extend(drafted.claims.into_iter().filter(|made| made.kept).map(|made| made.claim.key));
    }

    fn undrafted(&self, is_drafted: impl Fn(Content) -> bool) -> impl Iterator<Item = (&Content, &ContentRow)> {
        self.contents.iter().filter(move |(content, _)| !is_drafted(**content))
    }
}

impl StoredUser for &PlainUser {
    type Error = Infallible;
    type Claims = ();

    fn at_hand(&mut self) -> Result<AtHand, Infallible> {
        Ok(AtHand { forgetting: self.row.clone(), row: None, contents: None })
    }

    fn row(&mut self, content: Content) -> Result<Option<ContentRow>, Infallible> {
        Ok(self.contents.get(&content).cloned())
    }

    fn contents(&mut self) -> Result<u32, Infallible> {
        Ok(self.contents.len() as u32)
    }

    fn newest_record(&mut self, oldest: u64, is_drafted: impl Fn(Content) -> bool) -> Result<u64, Infallible> {
        let records = self.undrafted(is_drafted).filter_map(|(_, row)| row.record.as_ref());
        Ok(records.map(|record| record.at).filter(|at| *at >= oldest).max().unwrap_or(0))
    }

    fn first_to_go(&mut self, is_drafted: impl Fn(Content) -> bool) -> Result<Option<(Eviction, Content)>, Infallible> {
        Ok(self.undrafted(is_drafted).map(|(content, row)| (row.eviction(), *content)).min())
    }

    fn dead(
        &mut self,
        forgetting: &UserRow,
        horizon: u64,
        is_drafted: impl Fn(Content) -> bool,
    ) -> Result<DeadContents, Infallible> {
        let dead = self.undrafted(is_drafted).filter(|(_, row)| (*row).clone().prune(forgetting, horizon));
        Ok(DeadContents { contents: dead.map(|(content, _)| *content).collect(), more: false })
    }

    fn all(&mut self) -> Result<Vec<(Content, ContentRow)>, Infallible> {
        Ok(self.contents.clone().into_iter().collect())
    }

    fn is_claimed(&mut self, key: &ClaimKey, _: bool) -> Result<bool, Infallible> {
        Ok(self.claims.contains(key))
    }

    fn claims(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}
