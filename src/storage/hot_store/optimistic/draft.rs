//! One user's state with the changes of a group, for the decider.

use std::collections::{HashMap, HashSet};

use super::head::{Listing, day_of};
use super::known::{Known, Need};
use super::limits::Limits;
use super::{Head, StoredRow, Write};
use crate::model::decide::{KeptContent, UserState};
use crate::model::forgetting::{ContentRow, Eviction, UserRow};
use crate::model::ids::Content;
use crate::model::record::Record;
use crate::model::rewards::claim::{Claim, ClaimKey};
use crate::model::rewards::day::Day;
use crate::model::rewards::rule::RewardRule;
use crate::model::transition::Cause;

/// What is asked for first of what stands in an order; then twice as many each time.
pub const FEW: usize = 8;

/// When a user of whom nothing is left is looked at again who is still listed.
const LISTED_AGAIN_MS: u64 = 3_600_000;

/// Nothing of it is stored. What has to be read first ends it with that [`Need`], and it is made anew.
pub struct Draft<'k> {
    known: &'k Known,
    head: Option<&'k Head>,
    forgetting: UserRow,
    forgetting_changed: bool,
    /// The one in the head is the first, if there is one.
    rows: Vec<DraftRow>,
    /// Where each is, once there are many.
    places: HashMap<Content, usize>,
    /// The content of the last written beat.
    playing: Option<Content>,
    contents: Option<u32>,
    /// What is stored of contents counts no more.
    erased: bool,
    claims: Vec<DraftClaim>,
    /// Those of them that no erasure has taken away.
    claimed: HashSet<ClaimKey>,
    claims_erased: bool,
    dead: Vec<(Record, Cause)>,
    /// By what moments everything was pruned, and by which watermark.
    pruned: Option<(u64, u64)>,
    watermark_pruned: u64,
}

/// A draft that is to be stored.
pub struct Finished {
    /// Without its new token. `None`: it stays as it is.
    pub head: Option<Box<Head>>,
    pub writes: Vec<Write>,
    /// Records that clears or the retention had left, and that go now.
    pub dead: Vec<(Record, Cause)>,
}

struct DraftRow {
    content: Content,
    row: ContentRow,
    claims: Vec<u32>,
    /// Of the claims.
    day: Day,
    changed: bool,
    kept: Place,
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    InHead,
    Outside,
    Nowhere,
}

struct DraftClaim {
    claim: Claim,
    exact: bool,
    kept: bool,
}

impl DraftRow {
    fn new(content: Content, stored: StoredRow, kept: Place) -> Self {
        let StoredRow { row, claims } = stored;
        let day = row.record.as_ref().map_or_else(Day::default, |record| record.credit.day);
        DraftRow { content, row, claims, day, changed: false, kept }
    }

    fn stored(self) -> StoredRow {
        let is_of_day = self.row.record.as_ref().is_some_and(|record| record.credit.day == self.day);
        StoredRow { row: self.row, claims: if is_of_day { self.claims } else { Vec::new() } }
    }
}

impl<'k> Draft<'k> {
    pub fn new(known: &'k Known) -> Result<Self, Need> {
        let head = known.head.as_ref().ok_or(Need::Head)?.as_deref();
        let current = head.and_then(|head| head.current.clone());
        Ok(Draft {
            known,
            head,
            forgetting: head.map(|head| head.forgetting.clone()).unwrap_or_default(),
            forgetting_changed: false,
            rows: current.map(|(content, row)| DraftRow::new(content, row, Place::InHead)).into_iter().collect(),
            places: HashMap::new(),
            playing: None,
            contents: None,
            erased: false,
            claims: Vec::new(),
            claimed: HashSet::new(),
            claims_erased: false,
            dead: Vec::new(),
            pruned: None,
            watermark_pruned: 0,
        })
    }

    /// A beat of this content was written: its row goes into the head.
    pub fn plays(&mut self, content: Content) {
        self.playing = Some(content);
    }

    /// How many contents there are now, if that was counted.
    pub fn counted(&self) -> Option<u32> {
        self.contents
    }

    /// What is to be stored; `None`: nothing has changed.
    pub fn finish(mut self, now: u64, limits: &Limits) -> Option<Finished> {
        let horizon = limits.retention.horizon(now);
        let changed = self.forgetting_changed || self.erased || self.rows.iter().any(|row| row.changed);
        // What a clear hides that came after the pruning is to be removed soon.
        let pruned = self.pruned.filter(|_| self.forgetting.watermark <= self.watermark_pruned);
        let look = match pruned {
            Some(asked) => Some(self.next_look(asked, changed, now, limits)),
            None if changed => self.first_look(now, limits),
            None => None,
        };
        if !changed {
            return look.map(|look| Finished { head: None, writes: vec![look], dead: Vec::new() });
        }
        let mut writes: Vec<Write> = look.into_iter().collect();
        if self.erased {
            writes.push(Write::RemoveAll);
        }
        if self.claims_erased {
            writes.push(Write::RemoveClaims { rules: self.known.claim_rules.clone().unwrap_or_default() });
        }
        let before = self.head.and_then(|head| head.current.as_ref()).map(|(content, _)| *content);
        let has_record = |draft: &&DraftRow| draft.row.record.is_some();
        let of = |content| self.find(content).map(|place| &self.rows[place]).filter(has_record);
        let current = self.playing.and_then(of).or(before.and_then(of)).map(|draft| draft.content);
        // A pause that has not ended keeps the head for good, and no record stays for good.
        let current = current.filter(|_| !self.forgetting.recording.paused());
        let mut new = None;
        for mut draft in self.rows.drain(..) {
            let content = draft.content;
            if current == Some(content) {
                if draft.kept != Place::InHead {
                    let stored = draft.kept == Place::Outside;
                    writes.push(Write::Enter { content, at: draft.row.newest(), stored });
                }
                new = Some((content, draft.stored()));
                continue;
            }
            let leaves = draft.kept == Place::InHead;
            if leaves {
                self.dead.extend(draft.row.take_dead(&self.forgetting, horizon));
                draft.row.prune(&self.forgetting, horizon);
            }
            match (leaves || draft.changed, draft.row.is_empty()) {
                (true, false) => writes.push(Write::Put { content, row: draft.stored() }),
                (true, true) => writes.push(Write::Remove { content }),
                (false, _) => continue,
            }
        }
        let claims = self.claims.drain(..);
        writes.extend(claims.map(|DraftClaim { claim, exact, kept }| Write::Claim { claim, exact, kept }));
        let head = self.head.cloned().unwrap_or_default();
        let head = Box::new(Head { forgetting: self.forgetting, current: new, ..head });
        Some(Finished { head: Some(head), writes, dead: self.dead })
    }

    /// When the user has to be looked at because of what has changed, unless that is no sooner than it was. What is in the
    /// head was entered with the first beat of its day.
    fn first_look(&self, now: u64, limits: &Limits) -> Option<Write> {
        let watermark = self.head.map_or(0, |head| head.forgetting.watermark);
        if self.forgetting.watermark > watermark {
            return Some(Write::LookAt { at: now, exact: false });
        }
        let rows = self.rows.iter().filter(|draft| draft.changed && !draft.row.is_empty());
        let moments = rows.map(|draft| draft.row.newest());
        let known = self.head.and_then(Head::day);
        let first = moments.filter(|moment| known != Some(day_of(*moment))).min();
        let first = first.or_else(|| self.head.is_none().then_some(now))?;
        Some(Write::LookAt { at: limits.retention.expires(first), exact: false })
    }

    /// When the user has to be looked at again, now that nothing is dead; or that nothing is left.
    fn next_look(&self, asked: (u64, u64), changed: bool, now: u64, limits: &Limits) -> Write {
        let stored = self.known.dead(asked).filter(|_| !self.erased);
        let stored = stored.into_iter().flat_map(|dead| dead.next).flatten();
        let drafted = self.rows.iter().filter(|draft| !draft.row.is_empty()).map(|draft| draft.row.newest());
        let first = stored.chain(drafted).min();
        let forgetting = if self.forgetting.recording.paused() { now } else { self.forgetting.newest() };
        let forgetting = Some(forgetting).filter(|moment| *moment > 0);
        let next = first.into_iter().chain(forgetting).map(|moment| limits.retention.expires(moment)).min();
        // A call that began without a head must not find none again, so it stays for a retention after the last write.
        let written = match self.head {
            _ if changed => now,
            Some(head) => head.token.version.at(),
            None => 0,
        };
        match next.unwrap_or_else(|| limits.retention.after(written)) {
            // What was forgotten is still to be carried.
            at if next.is_none() && at <= now && self.is_listed() => {
                Write::LookAt { at: now + LISTED_AGAIN_MS, exact: true }
            }
            at if next.is_none() && at <= now => Write::RemoveUser,
            at => Write::LookAt { at: at.max(now + 1), exact: true },
        }
    }

    fn is_listed(&self) -> bool {
        self.head.is_some_and(|head| head.listing == Listing::Listed)
    }

    fn find(&self, content: Content) -> Option<usize> {
        match self.rows.len() <= FEW {
            true => self.rows.iter().position(|draft| draft.content == content),
            false => self.places.get(&content).copied(),
        }
    }

    fn push(&mut self, row: DraftRow) -> usize {
        let place = self.rows.len();
        self.rows.push(row);
        // A frame may have as many contents as beats.
        if place == FEW {
            self.places = self.rows.iter().zip(0..).map(|(row, place)| (row.content, place)).collect();
        } else if place > FEW {
            self.places.insert(self.rows[place].content, place);
        }
        place
    }

    fn place(&mut self, content: Content) -> Result<usize, Need> {
        if let Some(place) = self.find(content) {
            return Ok(place);
        }
        let stored = match self.erased {
            true => None,
            false => self.known.row(content).ok_or(Need::Row(content))?.clone(),
        };
        let kept = if stored.is_some() { Place::Outside } else { Place::Nowhere };
        Ok(self.push(DraftRow::new(content, stored.unwrap_or_default(), kept)))
    }
}

impl UserState for Draft<'_> {
    type Error = Need;

    fn forgetting(&mut self) -> Result<&UserRow, Need> {
        Ok(&self.forgetting)
    }

    fn put_forgetting(&mut self, row: UserRow) -> Result<(), Need> {
        self.forgetting = row;
        self.forgetting_changed = true;
        Ok(())
    }

    fn content(&mut self, content: Content) -> Result<KeptContent<'_>, Need> {
        let place = self.place(content)?;
        let Draft { forgetting, rows, .. } = self;
        let DraftRow { row, changed, .. } = &mut rows[place];
        Ok(KeptContent { forgetting, row, changed })
    }

    fn newest_record(&mut self, horizon: u64) -> Result<u64, Need> {
        let live = |draft: &DraftRow| draft.row.live(&self.forgetting, horizon).map(|record| record.at);
        let drafted = self.rows.iter().filter_map(live).max().unwrap_or(0);
        if self.erased {
            return Ok(drafted);
        }
        let (stored, all) = self.known.newest.as_ref().ok_or(Need::Newest(FEW))?;
        match stored.iter().find(|(_, content)| self.find(*content).is_none()) {
            Some((at, _)) if *at >= self.forgetting.oldest_live(horizon) => Ok(drafted.max(*at)),
            Some(_) => Ok(drafted),
            None if *all => Ok(drafted),
            None => Err(Need::Newest(2 * stored.len().max(FEW))),
        }
    }

    fn contents(&mut self) -> Result<u32, Need> {
        self.contents.or(self.known.contents.count()).ok_or(Need::Contents)
    }

    fn put_contents(&mut self, contents: u32) -> Result<(), Need> {
        self.contents = Some(contents);
        Ok(())
    }

    fn first_to_go(&mut self, except: Content) -> Result<Option<(Eviction, Content)>, Need> {
        let rows = self.rows.iter().filter(|draft| !draft.row.is_empty() && draft.content != except);
        let drafted = rows.map(|draft| (draft.row.eviction(), draft.content)).min();
        if self.erased {
            return Ok(drafted);
        }
        let (stored, all) = self.known.oldest.as_ref().ok_or(Need::Oldest(1))?;
        let is_new = |(_, content): &&(Eviction, Content)| self.find(*content).is_none() && *content != except;
        match stored.iter().find(is_new) {
            None if !all => Err(Need::Oldest(2 * stored.len().max(FEW))),
            first => Ok(drafted.into_iter().chain(first.copied()).min()),
        }
    }

    /// The timeline is kept in that order anyway.
    fn goes_sooner(&mut self, _: Content) -> Result<(), Need> {
        Ok(())
    }

    fn erase_contents(&mut self, mut erased: impl FnMut(Record)) -> Result<u64, Need> {
        if !self.erased && !self.known.all {
            return Err(Need::All);
        }
        let undrafted = self.known.rows().filter(|(content, _)| !self.erased && self.find(*content).is_none());
        let mut rows: Vec<ContentRow> = undrafted.map(|(_, stored)| stored.row.clone()).collect();
        rows.extend(self.rows.drain(..).map(|draft| draft.row));
        self.places.clear();
        let newest = rows.iter().map(ContentRow::newest).max().unwrap_or(0);
        let mut records: Vec<Record> = rows.into_iter().filter_map(|row| row.record).collect();
        records.sort_unstable_by_key(|record| record.content);
        records.into_iter().for_each(&mut erased);
        (self.erased, self.playing, self.contents) = (true, None, Some(0));
        Ok(newest)
    }

    fn prune_contents(&mut self, horizon: u64, mut gone: impl FnMut(Record, Cause)) -> Result<bool, Need> {
        let asked = (self.forgetting.oldest_live(horizon) - 1, horizon);
        let mut more = false;
        if !self.erased {
            let dead = self.known.dead(asked).ok_or(Need::Dead(asked.0, asked.1))?;
            more = dead.more;
            for content in &dead.contents {
                let place = self.place(*content)?;
                let draft = &mut self.rows[place];
                // The timeline names it, and there is no row.
                draft.changed |= draft.kept == Place::Nowhere && draft.row.is_empty();
            }
        }
        let (mut dead, mut emptied) = (Vec::new(), 0);
        let Draft { rows, forgetting, .. } = self;
        for DraftRow { row, changed, .. } in rows.iter_mut().filter(|draft| !draft.row.is_empty()) {
            let record = row.take_dead(forgetting, horizon);
            *changed |= record.is_some() | row.prune(forgetting, horizon);
            dead.extend(record);
            emptied += u32::from(row.is_empty());
        }
        dead.sort_unstable_by_key(|(record, _)| record.content);
        dead.into_iter().for_each(|(record, cause)| gone(record, cause));
        self.contents = self.contents.or(self.known.contents.count()).map(|count| count.saturating_sub(emptied));
        more &= self.rows.iter().any(|draft| draft.changed);
        self.pruned = (!more).then_some(asked);
        self.watermark_pruned = self.forgetting.watermark;
        Ok(more)
    }

    fn is_claimed(&mut self, key: &ClaimKey) -> Result<bool, Need> {
        if self.claimed.contains(key) {
            return Ok(true);
        }
        let found = self.known.claim(key).ok_or_else(|| Need::Claim(key.clone()))?;
        // An erasure cannot take anything out of a filter.
        Ok(found.claimed && !(self.claims_erased && found.exact))
    }

    fn claim(&mut self, claim: Claim) {
        let of_rule = |made: &&DraftClaim| !made.exact && made.claim.key.rule == claim.key.rule;
        let taken = self.claims.iter().filter(of_rule).count() as u64;
        let exact = self.known.claim(&claim.key).is_none_or(|found| found.exact || taken >= found.filter_room);
        if !exact && let Some(place) = self.find(claim.content) {
            let (row, mark) = (&mut self.rows[place], RewardRule::mark(&claim.key.rule));
            if std::mem::replace(&mut row.day, claim.key.day) != claim.key.day {
                row.claims.clear();
            }
            if !row.claims.contains(&mark) {
                row.claims.push(mark);
            }
        }
        self.claimed.insert(claim.key.clone());
        self.claims.push(DraftClaim { claim, exact, kept: true });
    }

    fn erase_claims(&mut self) -> Result<(), Need> {
        self.known.claim_rules.as_ref().ok_or(Need::ClaimRules)?;
        self.claims_erased = true;
        self.claimed.clear();
        self.claims.iter_mut().for_each(|made| made.kept = false);
        Ok(())
    }
}
