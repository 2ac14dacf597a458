//! The process ends while beats have no ack, and another one begins with what is in the storage.

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const RESENDS: Rule = Rule {
    name: "resends-after-a-reload",
    section: "clients.md#outbox-and-resending",
    text: "the newest unacked beat outlives the process, and is sent by the next one as it was",
};
const SESSION: Rule = Rule {
    name: "reload-is-a-new-session",
    section: "clients.md#sessions",
    text: "after a process start there is a new session, and `watched` begins at 0",
};
const OWN: Rule = Rule {
    name: "own-unsent-beats-count",
    section: "clients.md#start-of-playback",
    text: "of the stored record and the client's own unsent beats the newest says where the viewer was",
};

pub const SCENARIO: Scenario =
    Scenario { name: "reload", rules: &[&RESENDS, &SESSION, &OWN], play: |stage| Box::pin(play(stage)) };

const THERE: u64 = 400_000;

async fn play(stage: &mut Stage) -> Played {
    stage.watched_elsewhere();
    stage.start_playing(1).await?;
    stage.holds_acks(true);
    stage.seek(THERE).await?;
    let mark = stage.mark();
    stage.need_beats("the seek on", mark, 2).await?;
    let before = stage.beats_since(0);
    let newest = &before[before.len() - 1];
    let first = stage.gateway.newest();
    let reloaded_at = stage.gateway.ms();
    stage.does("reload").await?;
    let reloaded = stage.gateway.now();
    stage.holds_acks(false);
    stage.play().await?;
    let second = stage.need_connection(first).await?;
    let resent = |log: &crate::log::Log| log.beats_of(second).into_iter().find(|beat| beat.covers(newest));
    let found = stage.until(SOON, resent).await.map(|_| ());
    let expected = format!("the newest unacked beat once more: {}", newest.shown());
    let seen = format!("{} other beats", stage.gateway.log().beats_of(second).len());
    stage.judge(&RESENDS, found.ok_or_else(|| Fault::new(expected, seen)));
    let is_new = |beat: &Beat| is_new(beat, &before, reloaded);
    let new = stage.need("beat of the new process", |log| log.beats_of(second).into_iter().find(is_new)).await?;
    stage.judge(&SESSION, fresh(&new, &before, reloaded_at));
    let is_there = new.pos() >= THERE;
    let expected = format!("a position from {THERE} on, where the unacked beats were");
    stage.judge(&OWN, is_there.then_some(()).ok_or_else(|| Fault::new(expected, new.shown())));
    Ok(())
}

/// Made by the new process. What the old one made last may come only now, from the storage: its session is known, and it is
/// older than the reload.
fn is_new(beat: &Beat, before: &[Beat], reloaded: i64) -> bool {
    beat.at() > reloaded || before.iter().all(|old| old.session() != beat.session())
}

fn fresh(new: &Beat, before: &[Beat], reloaded_at: u64) -> Result<(), Fault> {
    if before.iter().any(|old| old.session() == new.session()) {
        return Err(Fault::new("a session that was not used before the reload", new.shown()));
    }
    let most = new.ms - reloaded_at + 1_500;
    if new.number("watched").is_some_and(|watched| watched > most) {
        return Err(Fault::new(format!("watched up to {most}"), new.shown()));
    }
    Ok(())
}
