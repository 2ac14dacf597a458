//! The page is hidden, or the app goes to the background, while beats have no ack.

use crate::beat::Beat;
use crate::log::{Log, Post};
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const FLUSHES: Rule = Rule {
    name: "hidden-flushes",
    section: "clients.md#when-the-page-is-hidden",
    text: "unacked beats go by `POST /v1/beats`, the newest first, with `connection` of the welcome",
};
const KEEPS: Rule = Rule {
    name: "flushed-beats-are-kept",
    section: "clients.md#when-the-page-is-hidden",
    text: "beats are kept until the request is answered: after a 503 they come over the next connection",
};

pub const SCENARIO: Scenario =
    Scenario { name: "hidden", rules: &[&FLUSHES, &KEEPS], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.refuses_posts = true);
    stage.start_playing(1).await?;
    stage.holds_acks(true);
    let mark = stage.mark();
    stage.need_beats("a client without acks", mark, 2).await?;
    // From then on nothing new is to be said.
    stage.does("pause").await?;
    let paused = |log: &Log| log.beats().into_iter().find(|beat| beat.state() == "paused");
    let newest = stage.need("beat of the pause", paused).await?;
    stage.does("hide").await?;
    let request = stage.until(SOON, |log| log.posts().into_iter().next()).await;
    let name = stage.gateway.name(newest.connection);
    let expected = format!("POST /v1/beats with {} and connection {name}", newest.shown());
    let found = request.map_or(Err("none".to_owned()), |post| flushed(&post, &newest, &name));
    stage.judge(&FLUSHES, found.map_err(|seen| Fault::new(expected, seen)));
    stage.sleep(200).await;
    let first = stage.cut();
    let second = stage.need_connection(first).await?;
    let resent = |log: &Log| log.beats_of(second).into_iter().find(|beat| beat.says_the_same(&newest));
    let kept = stage.until(SOON, resent).await.map(|_| ());
    stage
        .judge(&KEEPS, kept.ok_or_else(|| Fault::new(format!("once more {}", newest.shown()), "other beats, or none")));
    Ok(())
}

fn flushed(Post { body, beats, .. }: &Post, newest: &Beat, connection: &str) -> Result<(), String> {
    let has_newest = beats.iter().any(|beat| beat.key() == newest.key());
    let in_order = beats.windows(2).all(|pair| pair[0].at() >= pair[1].at());
    match has_newest && in_order && body["connection"] == connection {
        true => Ok(()),
        false => Err(body.to_string()),
    }
}
