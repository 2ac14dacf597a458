//! No ack comes, then the connection breaks. The next one has another clock and other limits.

use crate::beat::Beat;
use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{CLOCK_MS, Played, SOON, Stage};

const ONCE: Rule = Rule {
    name: "resends-only-after-a-reconnect",
    section: "clients.md#outbox-and-resending",
    text: "on an open socket a beat without an ack is not sent again",
};
const RESENDS: Rule = Rule {
    name: "resends-unacked",
    section: "clients.md#outbox-and-resending",
    text: "after a reconnect at least the newest unacked beat of each session and content is sent, as it was",
};
const TOKEN: Rule = Rule {
    name: "fresh-token-for-each-connection",
    section: "clients.md#reconnecting",
    text: "each connection has a token of its own",
};
const REBASES: Rule = Rule {
    name: "rebases-at-each-welcome",
    section: "clients.md#time-at",
    text: "after a welcome `at` goes by its `now`",
};
const LIMIT: Rule = Rule {
    name: "beats-of-a-frame-are-limited",
    section: "clients.md#reconnecting",
    text: "a frame has at most `limits.beats` beats",
};

pub const SCENARIO: Scenario = Scenario {
    name: "lost-acks",
    rules: &[&ONCE, &RESENDS, &TOKEN, &REBASES, &LIMIT],
    play: |stage| Box::pin(play(stage)),
};

const BEATS_MAX: usize = 2;
const STEP: i64 = 30_000;

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    stage.holds_acks(true);
    let mark = stage.mark();
    stage.need_beats("a client without acks", mark, 4).await?;
    stage.sleep(1_200).await;
    let unacked = stage.beats_since(mark);
    stage.judge(&ONCE, once(&unacked));
    stage.gateway.change(|behavior| behavior.limits["beats"] = BEATS_MAX.into());
    stage.step_clock(STEP);
    let first = stage.cut();
    let second = stage.need_connection(first).await?;
    stage.judge(&TOKEN, fresh(stage));
    let newest = &unacked[unacked.len() - 1];
    let resent = |log: &Log| log.beats_of(second).iter().any(|beat| beat.covers(newest)).then_some(());
    let found = stage.until(SOON, resent).await;
    let again = stage.gateway.log().beats_of(second);
    stage.judge(&RESENDS, resends(&unacked, &again, found.is_some()));
    stage.holds_acks(false);
    let keys: Vec<_> = unacked.iter().map(Beat::key).collect();
    let new = |log: &Log| log.beats_of(second).into_iter().rfind(|beat| !keys.contains(&beat.key()));
    let by_the_clock = |log: &Log| new(log).filter(|beat| beat.ahead().abs() <= CLOCK_MS);
    let rebased = stage.until(SOON, by_the_clock).await.map(|_| ());
    let last = new(&stage.gateway.log()).map_or("no new beat".to_owned(), |beat| beat.shown());
    stage.judge(&REBASES, rebased.ok_or_else(|| Fault::new("an `at` by the `now` of the second welcome", last)));
    stage.judge(&LIMIT, limited(stage, second));
    Ok(())
}

fn once(beats: &[Beat]) -> Result<(), Fault> {
    let twice = |(index, beat): &(usize, &Beat)| beats[..*index].iter().any(|before| before.key() == beat.key());
    let found = beats.iter().enumerate().find(twice);
    found.map_or(Ok(()), |(_, beat)| Err(Fault::new("each beat once on this connection", beat.shown())))
}

fn fresh(stage: &Stage) -> Result<(), Fault> {
    let log = stage.gateway.log();
    let tokens: Vec<&str> = log.attempts().iter().map(|(_, _, token)| *token).collect();
    let again = (1..tokens.len()).find(|index| tokens[..*index].contains(&tokens[*index]));
    again.map_or(Ok(()), |index| {
        Err(Fault::new(
            "a token that was fetched for this connection",
            format!("connection {} has an old one", index + 1),
        ))
    })
}

fn resends(unacked: &[Beat], again: &[Beat], has_newest: bool) -> Result<(), Fault> {
    let changed = again.iter().find_map(|beat| {
        let before = unacked.iter().find(|before| before.key() == beat.key() && !before.says_the_same(beat));
        before.map(|before| Fault::new(format!("the beat as it was: {}", before.shown()), beat.shown()))
    });
    let newest = unacked[unacked.len() - 1].shown();
    let missing = || Fault::new(format!("{newest} once more"), format!("{} other beats", again.len()));
    match changed {
        Some(fault) => Err(fault),
        None => has_newest.then_some(()).ok_or_else(missing),
    }
}

fn limited(stage: &Stage, connection: usize) -> Result<(), Fault> {
    let log = stage.gateway.log();
    let items = |frame: &serde_json::Value| frame["beats"]["items"].as_array().map_or(0, Vec::len);
    let of_this = log.beat_frames().filter(|(seen, _)| seen.connection == connection);
    let most = of_this.map(|(_, frame)| items(frame)).max().unwrap_or_default();
    if most <= BEATS_MAX {
        return Ok(());
    }
    Err(Fault::new(format!("at most {BEATS_MAX} beats in a frame"), format!("{most} beats in one")))
}
