//! Placement of a decision: the row of the content being played goes into the head, other rows beside it.

use std::sync::Arc;

use super::head::{Listing, day_of};
use super::known::{Known, dead_until};
use super::limits::Limits;
use super::uncarried::UNCARRIED_AGAIN_MS;
use super::{Head, StoredRow, Write};
use model::decide::{DraftRow, Drafted, Pruned};
use model::ids::Content;
use model::record::Record;
use model::rewards::claim::Claim;
use model::rewards::day::Day;
use model::rewards::rule::RewardRule;
use model::transition::Cause;

/// The delay of the next look at a user without data who is still listed.
const LISTED_AGAIN_MS: u64 = 3_600_000;

/// The writes of a decision.
pub struct Placed {
    /// The new head without its new token; `None`: the head stays as it is.
    pub head: Option<Box<Head>>,
    pub writes: Vec<Write>,
    /// Expired or cleared records that are removed now.
    pub dead: Vec<(Record, Cause)>,
}

/// The decision on one user, with the known state that it was based on.
pub struct Placement<'k> {
    pub known: &'k Known,
    pub drafted: Drafted<Vec<(Day, Arc<str>)>>,
    pub limits: &'k Limits,
    /// The server's clock, milliseconds.
    pub now: u64,
    /// Expired rows were kept, since they wait to be carried.
    pub waits_expired: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    InHead,
    Outside,
    Nowhere,
}

struct PlacedClaim {
    claim: Claim,
    exact: bool,
    kept: bool,
}

impl PlacedClaim {
    fn write(self) -> Write {
        let PlacedClaim { claim, exact, kept } = self;
        match claim.key.is_view() {
            true => Write::View { at: claim.claimed_at, key: claim.key, kept },
            false => Write::Claim { claim, exact, kept },
        }
    }
}

impl Placement<'_> {
    /// `None`: nothing has changed.
    pub fn place(mut self) -> Option<Placed> {
        let drafted = &self.drafted;
        let changed = drafted.forgetting_changed || drafted.erased || drafted.rows.iter().any(|draft| draft.changed);
        // A clear that came after the pruning hides records that should be removed soon.
        let pruned = drafted.pruned.filter(|pruned| drafted.forgetting.watermark <= pruned.watermark);
        let look = match pruned {
            Some(pruned) => Some(self.next_look(pruned, changed)),
            None if changed => self.first_look(),
            None => None,
        };
        let mut placed = Placed { head: None, writes: look.into_iter().collect(), dead: Vec::new() };
        if !changed {
            return (!placed.writes.is_empty()).then_some(placed);
        }
        let removes_all = self.removes_all();
        if removes_all {
            placed.writes.push(Write::RemoveAll);
        }
        placed.writes.extend(self.drafted.erased_claims.take().map(|rules| Write::RemoveClaims { rules }));
        let claims = self.claims();
        let current = self.put_rows(&claims, removes_all, &mut placed);
        placed.writes.extend(claims.into_iter().map(PlacedClaim::write));
        let head = self.head().cloned().unwrap_or_default();
        let horizon = self.limits.retention.horizon(self.now);
        let cold = self.known.cold_mark(self.drafted.forgetting.watermark, horizon);
        if head.cold.is_some() && cold.is_none() {
            placed.writes.push(Write::ColdFilter { filter: None });
        }
        placed.head = Some(Box::new(Head { forgetting: self.drafted.forgetting, current, cold, ..head }));
        Some(placed)
    }

    /// Whether no stored row stays. Otherwise rows are removed one by one, after the head: a script that is broken off
    /// must not take those along that stay.
    fn removes_all(&self) -> bool {
        let stays = |draft: &DraftRow| draft.is_stored && !draft.row.is_empty();
        self.drafted.erased && !self.drafted.rows.iter().any(stays)
    }

    /// Adds the writes of the rows. Returns the content and row of the new head.
    fn put_rows(
        &mut self,
        claims: &[PlacedClaim],
        removes_all: bool,
        placed: &mut Placed,
    ) -> Option<(Content, StoredRow)> {
        // A row that is not carried yet waits for the janitor.
        let horizon = match self.head().is_some_and(|head| self.limits.waits(head)) {
            true => 0,
            false => self.limits.retention.horizon(self.now),
        };
        let (mut current, playing) = (None, self.playing());
        for mut draft in std::mem::take(&mut self.drafted.rows) {
            let place = if removes_all { Place::Nowhere } else { self.place_of(&draft) };
            let content = draft.content;
            if playing == Some(content) {
                if place != Place::InHead {
                    let stored = place == Place::Outside;
                    placed.writes.push(Write::Enter { content, at: draft.row.newest(), stored });
                }
                current = Some((content, self.stored(draft, claims)));
                continue;
            }
            let leaves = place == Place::InHead;
            if leaves && !self.drafted.erased {
                placed.dead.extend(draft.row.take_dead(&self.drafted.forgetting, horizon));
                draft.row.prune(&self.drafted.forgetting, horizon);
            }
            match (leaves || draft.changed, draft.row.is_empty()) {
                (true, false) => placed.writes.push(Write::Put { content, row: self.stored(draft, claims) }),
                (true, true) if !removes_all => placed.writes.push(Write::Remove { content }),
                _ => {}
            }
        }
        current
    }

    /// The content whose row is in the new head.
    fn playing(&self) -> Option<Content> {
        // A pause that has not ended keeps the head permanently, and no record may stay permanently.
        if self.drafted.forgetting.recording.paused() {
            return None;
        }
        let has_record = |content: &Content| {
            self.drafted.rows.iter().any(|draft| draft.content == *content && draft.row.record.is_some())
        };
        let before = self.head().and_then(|head| head.current.as_ref()).map(|(content, _)| *content);
        self.drafted.playing.filter(has_record).or(before.filter(has_record))
    }

    fn place_of(&self, draft: &DraftRow) -> Place {
        let current = self.head().and_then(|head| head.current.as_ref());
        match current {
            _ if !draft.is_stored => Place::Nowhere,
            Some((current, _)) if *current == draft.content => Place::InHead,
            _ => Place::Outside,
        }
    }

    /// The claims and how they are kept. Rows mark the claims that go into filters, since filters cannot be listed.
    fn claims(&mut self) -> Vec<PlacedClaim> {
        let mut placed: Vec<PlacedClaim> = Vec::new();
        for made in std::mem::take(&mut self.drafted.claims) {
            let rule = &made.claim.key.rule;
            let taken = placed.iter().filter(|other| !other.exact && other.claim.key.rule == *rule).count() as u64;
            let found = self.known.claim(&made.claim.key);
            let exact = found.is_none_or(|found| found.exact || taken >= found.filter_room);
            placed.push(PlacedClaim { claim: made.claim, exact, kept: made.kept });
        }
        placed
    }

    /// The row, with the marks of the day of its credit.
    fn stored(&self, draft: DraftRow, claims: &[PlacedClaim]) -> StoredRow {
        // An erasure takes the claims along.
        let place = if self.drafted.erased { Place::Nowhere } else { self.place_of(&draft) };
        let DraftRow { content, row, .. } = draft;
        let Some(day) = row.record.as_ref().map(|record| record.credit.day) else {
            return StoredRow { row, claims: Vec::new() };
        };
        let before = match place {
            Place::InHead => self.head().and_then(|head| head.current.as_ref()).map(|(_, stored)| stored),
            Place::Outside => self.known.row(content).and_then(Option::as_ref),
            Place::Nowhere => None,
        };
        let is_of_day = |stored: &&StoredRow| stored.row.record.as_ref().is_some_and(|record| record.credit.day == day);
        let mut marks = before.filter(is_of_day).map(|stored| stored.claims.clone()).unwrap_or_default();
        let here = |made: &&PlacedClaim| {
            made.kept && !made.exact && made.claim.content == content && made.claim.key.day == day
        };
        for made in claims.iter().filter(here) {
            let mark = RewardRule::mark(&made.claim.key.rule);
            if !marks.contains(&mark) {
                marks.push(mark);
            }
        }
        StoredRow { row, claims: marks }
    }

    /// The next look at the user because of the change, unless it is no earlier than the scheduled one. For the content
    /// in the head, the first beat of its day has scheduled a look.
    fn first_look(&self) -> Option<Write> {
        let Placement { drafted, limits, now, .. } = self;
        let watermark = self.head().map_or(0, |head| head.forgetting.watermark);
        if drafted.forgetting.watermark > watermark {
            return Some(Write::LookAt { at: *now, exact: false });
        }
        let rows = drafted.rows.iter().filter(|draft| draft.changed && !draft.row.is_empty());
        let moments = rows.map(|draft| draft.row.newest());
        let known = self.head().and_then(Head::day);
        let first = moments.filter(|moment| known != Some(day_of(*moment))).min();
        let first = first.or_else(|| self.head().is_none().then_some(*now))?;
        Some(Write::LookAt { at: limits.retention.expires(first), exact: false })
    }

    /// The next look at the user after a pruning that left nothing dead, or the removal of a user without data.
    fn next_look(&self, pruned: Pruned, changed: bool) -> Write {
        let Placement { drafted, limits, now, .. } = self;
        let dead = self.known.dead(dead_until(pruned.watermark, pruned.horizon)).filter(|_| !drafted.erased);
        let stored = dead.into_iter().flat_map(|dead| dead.next).flatten();
        let rows = drafted.rows.iter().filter(|draft| !draft.row.is_empty()).map(|draft| draft.row.newest());
        let first = stored.chain(rows).min();
        let forgetting = if drafted.forgetting.recording.paused() { *now } else { drafted.forgetting.newest() };
        let forgetting = Some(forgetting).filter(|moment| *moment > 0);
        let next = first.into_iter().chain(forgetting).map(|moment| limits.retention.expires(moment)).min();
        // A call that began without a head must not find none again, so the head stays for a retention after the last
        // write.
        let written = match self.head() {
            _ if changed => *now,
            Some(head) => head.token.version.at(),
            None => 0,
        };
        match next.unwrap_or_else(|| limits.retention.after(written)) {
            // The erased state is still to be carried.
            at if next.is_none() && at <= *now && self.is_listed() => {
                Write::LookAt { at: now + LISTED_AGAIN_MS, exact: true }
            }
            at if next.is_none() && at <= *now => Write::RemoveUser,
            at => {
                let pause = if self.waits_expired { UNCARRIED_AGAIN_MS } else { 1 };
                Write::LookAt { at: at.max(now + pause), exact: true }
            }
        }
    }

    fn is_listed(&self) -> bool {
        self.head().is_some_and(|head| head.listing == Listing::Listed)
    }

    fn head(&self) -> Option<&Head> {
        self.known.head.as_ref()?.as_deref()
    }
}
