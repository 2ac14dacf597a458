//! The gateway answers a frame of beats with an `error`: it can read none of them, also one by one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::beat::{Key, key};
use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const REFUSED: Rule = Rule {
    name: "no-resend-of-a-refused-frame",
    section: "clients.md#outbox-and-resending",
    text: "after an `error` with `retry` false the frame is not sent again; its beats may be, one by one",
};
const BETWEEN: Rule = Rule {
    name: "never-three-refused-in-a-row",
    section: "clients.md#outbox-and-resending",
    text: "between beats that may be refused there is a valid frame, such as `hello`",
};

pub const SCENARIO: Scenario =
    Scenario { name: "refused-frame", rules: &[&REFUSED, &BETWEEN], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    stage.holds_acks(true);
    let mark = stage.mark();
    stage.need_beats("a client without acks", mark, 4).await?;
    stage.holds_acks(false);
    stage.gateway.change(|behavior| behavior.refuses = None);
    let mark = stage.mark();
    let first = stage.cut();
    let second = stage.need_connection(first).await?;
    let refused = stage.need("frame of beats", |log| frames(&log.after(mark)).into_iter().find(has_beats)).await?;
    stage.sleep(1_000).await;
    stage.cut();
    stage.need_connection(second).await?;
    stage.sleep(1_000).await;
    let later: Vec<_> =
        frames(&stage.gateway.log().after(mark)).into_iter().skip_while(|frame| !has_beats(frame)).collect();
    stage.judge(&REFUSED, sent_once(&refused, &later));
    stage.judge(&BETWEEN, with_others_between(&refused, &later));
    Ok(())
}

type Frame = BTreeSet<Key>;

/// The keys of the beats in each frame; none, if it has no beats.
fn frames(log: &Log) -> Vec<Frame> {
    let keys = |frame: &Value| frame["beats"]["items"].as_array().into_iter().flatten().filter_map(key).collect();
    log.frames().map(|(_, frame)| keys(frame)).collect()
}

fn has_beats(frame: &Frame) -> bool {
    !frame.is_empty()
}

/// `later` begins with the refused frame itself.
fn sent_once(refused: &Frame, later: &[Frame]) -> Result<(), Fault> {
    match later[1..].iter().filter(|frame| refused.is_subset(frame)).count() {
        0 => Ok(()),
        again => Err(Fault::new(
            format!("no other frame with all {} beats of the refused one", refused.len()),
            format!("{again} such frames"),
        )),
    }
}

fn with_others_between(refused: &Frame, later: &[Frame]) -> Result<(), Fault> {
    let (mut row, mut most) = (0, 0);
    for frame in later {
        row = if frame.is_disjoint(refused) { 0 } else { row + 1 };
        most = most.max(row);
    }
    match most {
        0..=2 => Ok(()),
        _ => Err(Fault::new(
            "at most 2 refused frames in a row",
            format!("{most}, after which a gateway closes with 4000"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(keys: &[i64]) -> Frame {
        keys.iter().map(|at| (1, *at)).collect()
    }

    #[test]
    fn a_refused_frame_is_not_sent_again_and_its_beats_have_others_between() {
        let refused = frame(&[1, 2, 3]);
        let one_by_one =
            [&refused, &frame(&[1]), &frame(&[]), &frame(&[2]), &frame(&[4]), &frame(&[3])].map(Clone::clone);
        assert_eq!(sent_once(&refused, &one_by_one), Ok(()));
        assert_eq!(with_others_between(&refused, &one_by_one), Ok(()));
        let again = [refused.clone(), frame(&[4]), frame(&[1, 2, 3, 5])];
        assert!(sent_once(&refused, &again).is_err());
        assert_eq!(with_others_between(&refused, &again), Ok(()));
        let in_a_row = [refused.clone(), frame(&[1]), frame(&[2])];
        assert_eq!(sent_once(&refused, &in_a_row), Ok(()));
        assert!(with_others_between(&refused, &in_a_row).is_err());
    }
}
