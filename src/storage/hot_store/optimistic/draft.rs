//! One user's state with the changes of a group, for the decider.

use std::collections::{HashMap, HashSet};

use super::head::day_of;
use super::known::{Known, Need};
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
}

/// A draft that is to be stored.
pub struct Finished {
    /// Without its new token.
    pub head: Box<Head>,
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
        })
    }

    /// A beat of this content was written: its row goes into the head.
    pub fn plays(&mut self, content: Content) {
        self.playing = Some(content);
    }

    /// Removes what clears and the retention have left of the rows that are known. True: something went.
    pub fn sweep(&mut self, horizon: u64) -> Result<bool, Need> {
        let contents: Vec<Content> = self.known.rows().map(|(content, _)| content).collect();
        for content in contents {
            self.place(content)?;
        }
        let Draft { rows, forgetting, dead, .. } = self;
        for DraftRow { row, changed, .. } in rows.iter_mut() {
            let dead_record = row.take_dead(forgetting, horizon);
            *changed = dead_record.is_some() | row.prune(forgetting, horizon);
            dead.extend(dead_record);
        }
        Ok(rows.iter().any(|row| row.changed))
    }

    /// How many contents there are now, if that was counted.
    pub fn counted(&self) -> Option<u32> {
        self.contents
    }

    /// What is to be stored; `None`: nothing has changed.
    pub fn finish(mut self, now: u64, horizon: u64) -> Option<Finished> {
        if !self.forgetting_changed && !self.erased && self.rows.iter().all(|row| !row.changed) {
            return None;
        }
        let mut writes = Vec::new();
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
        let day_before = self.head.and_then(Head::day);
        let mut put = self.erased;
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
            put = true;
        }
        // The keys outside the head are given their lifetime when they may be new, and with the first row of each day.
        let alone = self.erased || self.known.contents.count().is_none_or(|before| before < 2);
        let first_of_day = day_before != Some(day_of(now));
        if put && (alone || first_of_day) || new.as_ref().map(|(_, stored)| stored.day()) != day_before {
            writes.push(Write::Keep);
        }
        let claims = self.claims.drain(..);
        writes.extend(claims.map(|DraftClaim { claim, exact, kept }| Write::Claim { claim, exact, kept }));
        let head = self.head.cloned().unwrap_or_default();
        let head = Box::new(Head { forgetting: self.forgetting, current: new, ..head });
        Some(Finished { head, writes, dead: self.dead })
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
            Some((at, _)) if *at > self.forgetting.watermark && *at >= horizon => Ok(drafted.max(*at)),
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
        let drafted = self.rows.iter().map(|draft| draft.row.newest()).max().unwrap_or(0);
        let mut stored = 0;
        if !self.erased {
            stored = self.known.newest_of_all.ok_or(Need::NewestOfAll)?;
            let undrafted = self.known.rows().filter(|(content, _)| self.find(*content).is_none());
            undrafted.filter_map(|(_, stored)| stored.row.record.clone()).for_each(&mut erased);
        }
        self.rows.drain(..).filter_map(|draft| draft.row.record).for_each(erased);
        self.places.clear();
        (self.erased, self.playing, self.contents) = (true, None, Some(0));
        Ok(drafted.max(stored))
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
