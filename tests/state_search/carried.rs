//! Whether nothing of a user is lost on the way to the history store: it is on the bus, or will be carried.

use std::collections::HashMap;

use heartline::model::forgetting::{ContentRow, UserRow};
use heartline::model::ids::{Content, UserId};
use heartline::model::pack::PackedRow;
use heartline::storage::hot_store::optimistic::{Head, Listing, Load, Need};

use crate::state_search::backing::{Backing, OnList};
use crate::state_search::packers::Bus;
use crate::state_search::requests::Limits;

/// What is stored of a user, as far as it is to be carried.
pub struct Carried {
    user: UserId,
    head: Option<Box<Head>>,
    rows: HashMap<Content, ContentRow>,
    list: OnList,
}

pub async fn read<B: Backing>(backing: &B, user: UserId) -> Result<Carried, String> {
    let load = Load { user, needs: vec![Need::Head, Need::All] };
    let loaded = backing.load(&[load]).await.map_err(|error| error.to_string())?.remove(0);
    let rows = loaded.rows.into_iter().filter_map(|(content, row)| Some((content, row?.row))).collect();
    Ok(Carried { user, head: loaded.head.flatten(), rows, list: backing.on_list(user).await })
}

impl Carried {
    /// What holds at any moment.
    pub fn is_safe(&self, bus: &Bus, limits: &Limits, now: u64) -> Result<(), String> {
        let Some(head) = &self.head else { return Ok(()) };
        if head.listing == Listing::Unknown {
            return Ok(());
        }
        let is_listed = head.listing == Listing::Listed;
        if is_listed && self.list.due.is_none() {
            return Err("listed in the head, and not on the list".to_owned());
        }
        let is_marked = |content| self.list.all || self.list.marks.contains(content);
        let kept = |row: &ContentRow| row.newest() > head.forgetting.watermark && row.newest() >= limits.horizon(now);
        for (content, row) in self.rows.iter().filter(|(_, row)| kept(row)) {
            if !(is_listed && is_marked(content)) {
                self.is_on(bus, *content, row)?;
            }
        }
        if is_listed {
            return Ok(());
        }
        if let Some((content, stored)) = head.current.as_ref().filter(|(_, stored)| kept(&stored.row)) {
            self.is_on(bus, *content, &stored.row)?;
        }
        self.is_forgotten_on(bus, &head.forgetting)
    }

    /// What holds once everything was carried.
    pub fn is_over(&self, bus: &Bus, limits: &Limits, now: u64) -> Result<(), String> {
        match &self.head {
            Some(head) if head.listing != Listing::Carried => return Err(format!("still {:?}", head.listing)),
            _ if self.list != OnList::default() => return Err(format!("still on the list: {:?}", self.list)),
            _ => {}
        }
        self.is_safe(bus, limits, now)
    }

    fn is_on(&self, bus: &Bus, content: Content, row: &ContentRow) -> Result<(), String> {
        let wanted = PackedRow::of(content, row);
        match bus.rows.get(&(self.user, content)) {
            Some(found) if *found == wanted => Ok(()),
            found => Err(format!("{wanted:?} was not carried, but {found:?}; list: {:?}", self.list)),
        }
    }

    /// What has expired since need not be there.
    fn is_forgotten_on(&self, bus: &Bus, row: &UserRow) -> Result<(), String> {
        let is_empty = row.watermark == 0 && row.floor == 0 && row.recording.switches().is_empty();
        let carried = bus.forgetting.get(&self.user).is_some_and(|found| {
            let has = |switch| found.switches.contains(switch);
            found.watermark >= row.watermark && found.floor >= row.floor && row.recording.switches().iter().all(has)
        });
        match is_empty || carried {
            true => Ok(()),
            false => Err(format!("{row:?} was not carried, but {:?}", bus.forgetting.get(&self.user))),
        }
    }
}
