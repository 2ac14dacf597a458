//! The viewer seeks, pauses, goes on, comes to the end and starts once more.

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{DUR, Played, SOON, Stage};

const CHANGES: Rule = Rule {
    name: "beats-at-every-change",
    section: "clients.md#when-to-send-a-beat",
    text: "a seek, a pause and the end make a beat at once",
};
const QUIET: Rule = Rule {
    name: "says-nothing-new-while-paused",
    section: "clients.md#time-at",
    text: "while nothing changes the last beat is sent again as it is, or nothing",
};
const WATCHED: Rule = Rule {
    name: "watched-counts-what-was-played",
    section: "clients.md#sessions",
    text: "`watched` grows by the media played in this session, and a seek is not played",
};
const REPLAY: Rule = Rule {
    name: "replay-is-a-new-session",
    section: "clients.md#sessions",
    text: "after the end, playing once more begins a session",
};

pub const SCENARIO: Scenario =
    Scenario { name: "changes", rules: &[&CHANGES, &QUIET, &WATCHED, &REPLAY], play: |stage| Box::pin(play(stage)) };

const MIDDLE: u64 = 300_000;
/// So much is left to play after the last seek.
const REST: u64 = 1_500;

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    stage.sleep(600).await;
    stage.seek(MIDDLE).await?;
    let mut missing = Vec::new();
    let sought = next(stage, |beat| beat.pos() >= MIDDLE).await;
    missing.extend(sought.is_none().then_some("a beat of the seek"));
    stage.sleep(600).await;
    stage.does("pause").await?;
    match next(stage, |beat| beat.state() == "paused").await {
        Some(pause) => stays_quiet(stage, &pause).await,
        None => missing.push("a `paused` beat of the pause"),
    }
    stage.play().await?;
    stage.seek(DUR - REST).await?;
    let end = next(stage, |beat| beat.state() == "ended").await;
    missing.extend(end.is_none().then_some("an `ended` beat of the end"));
    let beats = stage.beats_since(0);
    stage.judge(&WATCHED, watched(&beats));
    let seen = beats.last().map(Beat::shown).unwrap_or_default();
    let complete = missing.first().map_or(Ok(()), |missing| Err(Fault::new(*missing, format!("at last {seen}"))));
    stage.judge(&CHANGES, complete);
    if let Some(end) = end {
        replay(stage, &end).await?;
    }
    Ok(())
}

async fn next(stage: &Stage, is_it: impl Fn(&Beat) -> bool) -> Option<Beat> {
    stage.until(SOON, |log| log.beats().into_iter().find(&is_it)).await
}

async fn stays_quiet(stage: &mut Stage, pause: &Beat) {
    stage.sleep(2_000).await;
    let beats = stage.beats_since(0);
    let new = beats.iter().skip_while(|beat| beat.key() != pause.key()).find(|beat| beat.key() != pause.key());
    let expected = "nothing, or the beat of the pause as it was";
    stage.judge(&QUIET, new.map_or(Ok(()), |beat| Err(Fault::new(expected, beat.shown()))));
}

/// By the time that has passed: nothing is played faster.
fn watched(beats: &[Beat]) -> Result<(), Fault> {
    let (mut before, began) = (0, beats[0].ms);
    for beat in beats.iter().filter(|beat| beat.session() == beats[0].session()) {
        let Some(watched) = beat.number("watched") else { continue };
        let most = beat.ms - began + beats[0].number("watched").unwrap_or_default() + 3_000;
        if watched < before || watched > most {
            return Err(Fault::new(format!("watched from {before} to {most}"), beat.shown()));
        }
        before = watched;
    }
    Ok(())
}

async fn replay(stage: &mut Stage, end: &Beat) -> Played {
    let mark = stage.mark();
    stage.play().await?;
    let beats = stage.need_beats("playing once more", mark, 1).await?;
    let new = beats.iter().find(|beat| beat.state() == "playing" && beat.session() == end.session());
    let expected = format!("another session than {}", end.session());
    stage.judge(&REPLAY, new.map_or(Ok(()), |beat| Err(Fault::new(expected, beat.shown()))));
    Ok(())
}
