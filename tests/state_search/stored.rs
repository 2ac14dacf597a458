//! All that a store keeps of one user.

use std::collections::{BTreeMap, HashMap};

use heartline::model::forgetting::{ContentRow, Eviction};
use heartline::model::ids::{Content, UserId};
use heartline::model::rewards::claim::ClaimKey;
use heartline::model::rewards::day::Day;
use heartline::storage::hot_store::optimistic::{Claimable, Head, Load, Need, StoredRow, UNCARRIED_AGAIN_MS};

use crate::state_search::backing::Backing;
use crate::state_search::requests::Limits;
use crate::state_search::scenario::{BEGIN, DAY_MS, OIDS, RULES, content};
use crate::state_search::state::State;

/// More contents than a user has.
const ALL: usize = 100;
/// Days of a run.
const DAYS: u64 = 4;

pub struct Stored {
    pub head: Option<Box<Head>>,
    /// By the timeline.
    rows: BTreeMap<Content, StoredRow>,
    rows_count: usize,
    timeline: BTreeMap<Content, Eviction>,
    claims: Vec<Claimable>,
    look: Option<u64>,
}

pub async fn read<B: Backing>(backing: &B, user: UserId) -> Result<Stored, String> {
    let mut needs = vec![Need::Head, Need::Contents, Need::Oldest(ALL)];
    needs.extend(claims_of(user).into_iter().map(Need::Claim));
    let load = Load { user, needs };
    let loaded = backing.load(&[load]).await.map_err(|error| error.to_string())?.remove(0);
    let (oldest, _) = loaded.oldest.ok_or("no timeline was read")?;
    Ok(Stored {
        head: loaded.head.ok_or("no head was read")?,
        rows: loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?))).collect(),
        rows_count: backing.rows(user).await,
        timeline: oldest.into_iter().map(|(eviction, content)| (content, eviction)).collect(),
        claims: loaded.claims,
        look: backing.look(user).await,
    })
}

fn claims_of(user: UserId) -> Vec<ClaimKey> {
    let first = BEGIN / DAY_MS;
    let days = (first..first + DAYS).map(|day| Day::of_number(day as u16));
    let keys = days.flat_map(|day| {
        let of_rule = move |(_, rule)| (1..=OIDS).map(move |oid| ClaimKey::of(rule, day, user, content(oid)));
        RULES.iter().flat_map(of_rule)
    });
    let mut keys: Vec<ClaimKey> = keys.collect();
    keys.dedup();
    keys
}

impl Stored {
    /// Whether the user will be looked at as soon as the first of it has expired: days expire as a whole.
    pub fn is_entered(&self, limits: &Limits, now: u64, may_wait: bool) -> Result<(), String> {
        let look = self.look.ok_or("a user without a scheduled look")?;
        let current = self.head.iter().flat_map(|head| &head.current);
        let rows = self.rows.iter().chain(current.map(|(content, row)| (content, row)));
        // What has expired may wait to be carried.
        let soon = now + if may_wait { UNCARRIED_AGAIN_MS } else { 1 };
        let late = rows.filter(|(_, stored)| look > soon && stored.row.newest() < limits.horizon(look - 1)).count();
        match late {
            0 => Ok(()),
            _ => Err(format!("{late} contents have to wait until {look}")),
        }
    }

    /// Whether nothing is left without a head.
    pub fn is_nothing(&self) -> Result<(), String> {
        same(
            "rows, timeline and look without a head",
            &(self.rows_count, self.timeline.len(), self.look),
            &(0, 0, None),
        )
    }

    /// Whether it is what is true, each row in one place. `head`: what was written last.
    pub fn fits(&self, state: &State, user: UserId, head: &Head) -> Result<(), String> {
        let Some(found) = &self.head else { return Err("no head".to_owned()) };
        same("token", &found.token, &head.token)?;
        same("forgetting", &found.forgetting, &state.forgetting(user))?;
        let mut contents = state.contents(user);
        let all: BTreeMap<Content, ()> = contents.keys().map(|content| (*content, ())).collect();
        same("timeline", &self.timeline.keys().map(|content| (*content, ())).collect(), &all)?;
        let current = state.current.and_then(|content| Some((content, contents.remove(&content)?)));
        let in_head = found.current.as_ref().map(|(content, stored)| (*content, stored.row.clone()));
        same("row in the head", &in_head, &current)?;
        let rows: HashMap<Content, ContentRow> =
            self.rows.iter().map(|(content, stored)| (*content, stored.row.clone())).collect();
        same("rows", &rows, &contents)?;
        same("count of rows", &self.rows_count, &contents.len())?;
        for (content, row) in &contents {
            same("place in the timeline", self.timeline.get(content).unwrap_or(&Eviction::LAST), &row.eviction())?;
        }
        for Claimable { key, claimed, .. } in &self.claims {
            same(&key.to_string(), claimed, &state.has_claimed(key))?;
        }
        Ok(())
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found:?}, not {expected:?}")),
    }
}
