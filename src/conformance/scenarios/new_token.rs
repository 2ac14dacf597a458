//! The gateway closes because of the token: first it has expired, then it is refused.

use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const EXPIRED: Rule = Rule {
    name: "new-token-after-4002",
    section: "clients.md#tokens",
    text: "after a close with 4002 the next attempt has a new token",
};
const REFUSED: Rule = Rule {
    name: "new-token-after-4001",
    section: "clients.md#tokens",
    text: "after a close with 4001 the next attempt has another token",
};

pub const SCENARIO: Scenario =
    Scenario { name: "new-token", rules: &[&EXPIRED, &REFUSED], play: |stage| Box::pin(play(stage)) };

async fn play(stage: &mut Stage) -> Played {
    stage.start_playing(1).await?;
    for (rule, code, reason) in [(&EXPIRED, 4002, "expired"), (&REFUSED, 4001, "bad signature")] {
        let number = stage.gateway.newest();
        stage.close(code, reason);
        let next = |log: &crate::log::Log| log.attempts().get(number).map(|(_, _, token)| (*token).to_owned());
        let token = stage.until(SOON, next).await;
        let before = stage.gateway.log().attempts()[number - 1].2.to_owned();
        let expected = format!("an attempt with another token after {code}");
        let found = match token {
            Some(token) if token != before => Ok(()),
            Some(_) => Err(Fault::new(expected, "the same token")),
            None => Err(Fault::new(expected, "no attempt")),
        };
        stage.judge(rule, found);
        stage.need_connection(number).await?;
    }
    Ok(())
}
