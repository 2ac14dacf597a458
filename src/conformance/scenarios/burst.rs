//! The viewer seeks 25 times in a row, and the gateway allows few frames.

use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, Stage};

const LIMITS: Rule = Rule {
    name: "stays-within-the-rate",
    section: "clients.md#reconnecting",
    text: "frames stay within `limits.burst` and `limits.frames_per_second`",
};

pub const SCENARIO: Scenario = Scenario { name: "burst", rules: &[&LIMITS], play: |stage| Box::pin(play(stage)) };

const SEEKS: u64 = 25;
const BURST: u64 = 6;
const PER_SECOND: u64 = 2;

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| {
        behavior.limits["burst"] = BURST.into();
        behavior.limits["frames_per_second"] = PER_SECOND.into();
    });
    stage.start_playing(1).await?;
    for number in 0..SEEKS {
        stage.seek(50_000 + number * 20_000).await?;
    }
    stage.sleep(1_500).await;
    let found = within(&stage.gateway.log());
    stage.judge(&LIMITS, found);
    Ok(())
}

/// One second's worth more than the burst is let through, as the gateway does it.
fn within(log: &Log) -> Result<(), Fault> {
    let most = (BURST + PER_SECOND) * 1_000;
    let (mut level, mut last) = (most, 0);
    for (number, (seen, _)) in log.frames().enumerate() {
        level = most.min(level + (seen.ms - last) * PER_SECOND);
        last = seen.ms;
        level = level.checked_sub(1_000).ok_or_else(|| {
            let seen = format!("frame {} comes {} ms after the beginning", number + 1, seen.ms);
            Fault::new(format!("{BURST} frames at once, then {PER_SECOND} per second"), seen)
        })?;
    }
    Ok(())
}
