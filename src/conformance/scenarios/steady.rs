//! A content that was watched elsewhere is played on, and nothing goes wrong.

use crate::beat::Beat;
use crate::behavior::INTERVAL_MS;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{CLOCK_MS, DUR, Played, Stage};

const RESUMES: Rule = Rule {
    name: "resumes-where-the-viewer-was",
    section: "clients.md#start-of-playback",
    text: "playback goes on at `resume` of the stored record",
};
const INTERVAL: Rule = Rule {
    name: "beats-at-the-interval",
    section: "clients.md#when-to-send-a-beat",
    text: "a client that plays makes a beat every `welcome.interval`",
};
const DURATION: Rule = Rule {
    name: "dur-in-every-beat",
    section: "clients.md#when-to-send-a-beat",
    text: "every beat has `dur` once it is known",
};
const CLOCK: Rule = Rule {
    name: "at-follows-the-server-clock",
    section: "clients.md#time-at",
    text: "`at` is `welcome.now` plus the time since then, whatever the clock of the device says",
};
const PLAYED: Rule = Rule {
    name: "nothing-played-no-beat",
    section: "clients.md#sessions",
    text: "a session makes its first beat once something was played",
};

pub const SCENARIO: Scenario = Scenario {
    name: "steady",
    rules: &[&RESUMES, &INTERVAL, &DURATION, &CLOCK, &PLAYED],
    play: |stage| Box::pin(play(stage)),
};

const PLAYS_MS: u64 = 3_500;

async fn play(stage: &mut Stage) -> Played {
    let place = stage.watched_elsewhere();
    let first = stage.start_playing(1).await?.remove(0);
    stage.judge(&RESUMES, resumed(&first, place));
    let mark = stage.mark();
    stage.sleep(PLAYS_MS).await;
    stage.judge(&INTERVAL, at_the_interval(&stage.beats_since(mark)));
    let beats = stage.beats_since(0);
    stage.judge(&DURATION, each(&beats, "dur 600000", |beat| beat.number("dur") == Some(DUR)));
    let expected = format!("an `at` at most {CLOCK_MS} ms behind the server's clock, and not ahead of it");
    stage.judge(&CLOCK, each(&beats, &expected, |beat| (-CLOCK_MS..=50).contains(&beat.ahead())));
    stage.judge(&PLAYED, each(&beats, "watched above 0", was_played));
    Ok(())
}

fn resumed(first: &Beat, place: u64) -> Result<(), Fault> {
    if (place..place + 5_000).contains(&first.pos()) {
        return Ok(());
    }
    Err(Fault::new(format!("a first beat from {place} on"), first.shown()))
}

fn at_the_interval(beats: &[Beat]) -> Result<(), Fault> {
    let usual = PLAYS_MS / INTERVAL_MS;
    let gap = beats.windows(2).map(|pair| pair[1].ms - pair[0].ms).max().unwrap_or(PLAYS_MS);
    if (usual / 2..=usual * 2).contains(&(beats.len() as u64)) && gap <= 4 * INTERVAL_MS {
        return Ok(());
    }
    let seen = format!("{} beats, the longest gap {gap} ms", beats.len());
    Err(Fault::new(format!("about {usual} beats in {PLAYS_MS} ms, one every {INTERVAL_MS} ms"), seen))
}

/// A client that cannot count leaves `watched` out, and sends `playing` only.
fn was_played(beat: &Beat) -> bool {
    beat.number("watched").map_or(beat.state() == "playing", |watched| watched > 0)
}

fn each(beats: &[Beat], expected: &str, is_good: impl Fn(&Beat) -> bool) -> Result<(), Fault> {
    match beats.iter().find(|beat| !is_good(beat)) {
        Some(beat) => Err(Fault::new(expected, beat.shown())),
        None => Ok(()),
    }
}
