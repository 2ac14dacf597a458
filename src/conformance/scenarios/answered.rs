//! One ack covers several frames, and a beat is rejected. Neither is sent again after a reconnect.

use serde_json::json;

use crate::beat::Beat;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const CUMULATIVE: Rule = Rule {
    name: "acks-are-cumulative",
    section: "protocol.md#server-frames",
    text: "an ack covers every frame up to its `seq`: none of their beats is sent again",
};
const REJECTED: Rule = Rule {
    name: "no-resend-of-rejected",
    section: "clients.md#outbox-and-resending",
    text: "a rejected beat is answered, and not sent again",
};

pub const SCENARIO: Scenario =
    Scenario { name: "answered", rules: &[&CUMULATIVE, &REJECTED], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    let acked = held(stage, 3).await?;
    let seq = acked[acked.len() - 1].seq;
    stage.gateway.ack(stage.gateway.newest(), seq, json!({}));
    let found = cut_and_look(stage, &acked).await?;
    stage.judge(&CUMULATIVE, not_again(found, format!("nothing of what the ack of frame {seq} covers")));

    let rejected = held(stage, 1).await?;
    let seq = rejected[rejected.len() - 1].seq;
    let rejections =
        rejected.iter().map(|beat| json!({"seq": beat.seq, "index": beat.index, "reason": "not_recording"}));
    let ack = json!({"rejected": rejections.collect::<Vec<_>>()});
    stage.gateway.ack(stage.gateway.newest(), seq, ack);
    let found = cut_and_look(stage, &rejected).await?;
    stage.judge(&REJECTED, not_again(found, "nothing of what was rejected as `not_recording`".to_owned()));
    Ok(())
}

/// Beats without an ack.
async fn held(stage: &mut Stage, count: usize) -> Result<Vec<Beat>, crate::stage::Stop> {
    stage.holds_acks(true);
    let mark = stage.mark();
    let beats = stage.need_beats("a client that plays", mark, count).await;
    stage.holds_acks(false);
    beats
}

/// After a reconnect: a beat of these that comes again.
async fn cut_and_look(stage: &mut Stage, answered: &[Beat]) -> Result<Option<Beat>, crate::stage::Stop> {
    // The ack has to be there before the cut.
    stage.settle().await;
    let mark = stage.mark();
    let number = stage.cut();
    stage.need_connection(number).await?;
    stage.need_beats("the new connection", mark, 1).await?;
    stage.sleep(700).await;
    let again = |beat: &Beat| answered.iter().any(|before| before.key() == beat.key());
    Ok(stage.beats_since(mark).into_iter().find(again))
}

fn not_again(found: Option<Beat>, expected: String) -> Result<(), Fault> {
    found.map_or(Ok(()), |beat| Err(Fault::new(expected, beat.shown())))
}
