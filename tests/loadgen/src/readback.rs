//! Reads back whether acked beats are stored, over the wire, user by user.

use std::rc::Rc;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_local, yield_now};
use tokio::time::{sleep, timeout};

use super::answer::Record;
use super::dice::Dice;
use super::ledger::Page;
use super::life;
use super::member::Member;
use super::message::Readback;
use super::stage::Stage;
use super::tally;

/// Users that are read at the same time.
const AT_ONCE: usize = 64;
/// Contents in one request.
const CONTENTS_MAX: usize = 200;
const ANSWER_MAX: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(250);
/// The pause between two checks for the next user of a socket.
const CHANGE: Duration = Duration::from_millis(20);
const CHANGE_MAX: Duration = Duration::from_secs(60);
const TRIES: u32 = 40;

/// Reads back the share of users that the load configures.
pub async fn all(stage: &Rc<Stage>, members: &[Rc<Member>]) -> Readback {
    let share = stage.load.verify.unwrap_or(0.0);
    let mut chosen = members.iter().filter(|member| Dice::new(member.names().mid).share() < share);
    let mut found = Readback::default();
    let mut asking = JoinSet::new();
    loop {
        while asking.len() < AT_ONCE
            && let Some(member) = chosen.next()
        {
            asking.spawn_local(one(stage.clone(), member.clone()));
        }
        match asking.join_next().await {
            Some(one) => found.add(&one.expect("reading back does not panic")),
            None => return found,
        }
    }
}

/// Reads back all users of a socket, one after the other.
async fn one(stage: Rc<Stage>, member: Rc<Member>) -> Readback {
    let mut found = Readback::default();
    if stage.load.users_per_socket == 1 {
        return present(&stage, &member).await;
    }
    for user in 0..stage.load.users_per_socket {
        let comes = async {
            while !member.ask_for(user) {
                sleep(CHANGE).await;
            }
        };
        match timeout(CHANGE_MAX, comes).await {
            Ok(()) => found.add(&present(&stage, &member).await),
            Err(_) => {
                tally::count(&mut found.errors, "the next user did not get a socket");
                found.users += 1;
                found.unread += 1;
            }
        }
    }
    found
}

/// Reads back the present user.
async fn present(stage: &Rc<Stage>, member: &Rc<Member>) -> Readback {
    let mut found = Readback { users: 1, ..Readback::default() };
    let ledger = member.ledger();
    for page in ledger.pages(CONTENTS_MAX) {
        let acked = page.count();
        found.acked += acked;
        match read(stage, member, &page, &mut found.errors).await {
            Some(stored) => {
                found.stored += stored;
                found.missing += acked - stored;
            }
            None => found.unread += acked,
        }
    }
    found
}

/// The number of these contents that are stored as acked, or newer.
async fn read(stage: &Rc<Stage>, member: &Rc<Member>, page: &Page<'_>, errors: &mut tally::Kinds) -> Option<u64> {
    for _ in 0..TRIES {
        if !member.is_attached() && !stage.load.reconnect {
            match Box::pin(life::dial(stage, member)).await {
                Ok(dialed) => drop(spawn_local(life::live(stage.clone(), member.clone(), dialed))),
                Err(error) => tally::count(errors, &error.to_string()),
            }
            // Lets the new task attach first.
            yield_now().await;
        }
        match timeout(ANSWER_MAX, member.ask(stage, page.contents())).await {
            Ok(Ok(Ok(records))) if records.len() == page.acked.len() => return Some(stored(member, page, &records)),
            Ok(Ok(Ok(_))) => tally::count(errors, "as many records as asked for did not come"),
            Ok(Ok(Err(code))) => tally::count(errors, &code),
            Ok(Err(_)) => tally::count(errors, "lost"),
            Err(_) => tally::count(errors, "no answer in time"),
        }
        sleep(PAUSE).await;
    }
    None
}

fn stored(member: &Member, page: &Page<'_>, records: &[Option<Record>]) -> u64 {
    let found = records.iter().zip(page.contents()).zip(page.acked).filter(|((record, content), at)| {
        let session = member.names().session(*content).to_string();
        **at > 0 && record.as_ref().is_some_and(|record| record.at >= **at && record.session == session)
    });
    found.count() as u64
}
