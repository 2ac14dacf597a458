//! The page is hidden while more beats have no ack than one request may carry.

use crate::log::{Log, Post};
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const FITS: Rule = Rule {
    name: "flush-is-limited",
    section: "clients.md#when-the-page-is-hidden",
    text: "the request at hide has at most 60 KiB; of more beats it has the newest",
};

pub const SCENARIO: Scenario = Scenario { name: "full-outbox", rules: &[&FITS], play: |stage| Box::pin(play(stage)) };

const BYTES_MAX: usize = 60 * 1024;
/// With as many beats of each as a client need keep it is 75 KiB, so that some may be missing.
const CONTENTS: u64 = 20;
const SEEKS: u64 = 24;
/// After the position is known, for the first beat.
const START_MS: u64 = 350;

async fn play(stage: &mut Stage) -> Played {
    stage.start().await?;
    stage.need_connection(0).await?;
    stage.holds_acks(true);
    let first = stage.oid;
    for oid in first..first + CONTENTS {
        let reads = stage.gateway.log().reads();
        stage.play_content(oid).await?;
        stage.need("question where the viewer was", |log| (log.reads() > reads).then_some(())).await?;
        stage.sleep(START_MS).await;
        for number in 0..SEEKS {
            stage.seek(200_000 + number * 10_000).await?;
        }
    }
    stage.does("hide").await?;
    let request = |log: &Log| log.posts().into_iter().find(|post| !post.beats.is_empty());
    let request = stage.until(SOON, request).await;
    let newest = (first + CONTENTS - 1).to_string();
    let expected = format!("POST /v1/beats with at most {BYTES_MAX} bytes, first a beat of content {newest}");
    let found = request.map_or(Err("none".to_owned()), |post| fits(&post, &newest));
    stage.judge(&FITS, found.map_err(|seen| Fault::new(expected, seen)));
    Ok(())
}

fn fits(Post { beats, bytes, .. }: &Post, newest: &str) -> Result<(), String> {
    match beats.first() {
        Some(beat) if *bytes <= BYTES_MAX && beat.json["oid"] == newest => Ok(()),
        first => Err(format!("{bytes} bytes, first {}", first.map(|beat| beat.shown()).unwrap_or_default())),
    }
}
