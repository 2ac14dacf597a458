//! No socket can be opened. HTTP works.

use crate::behavior::Admission;
use crate::log::Log;
use crate::rule::{Fault, Rule};
use crate::scenario::Scenario;
use crate::stage::{Played, SOON, Stage};

const BACKOFF: Rule = Rule {
    name: "backs-off",
    section: "clients.md#reconnecting",
    text: "attempts are apart by a random time below a limit that doubles from 0.5 s",
};
const JITTER: Rule = Rule {
    name: "backs-off-with-jitter",
    section: "clients.md#reconnecting",
    text: "the waits are random, and not the limit itself",
};
const HTTP: Rule = Rule {
    name: "http-without-sockets",
    section: "clients.md#without-sockets",
    text: "where no socket can be opened, beats go by `POST /v1/beats`",
};

pub const SCENARIO: Scenario =
    Scenario { name: "no-socket", rules: &[&BACKOFF, &JITTER, &HTTP], play: |stage| Box::pin(play(stage)) };

const WAITS: usize = 4;
const FIRST_MS: u64 = 500;
/// The time that a slow machine may add to a wait.
const SLACK_MS: u64 = 1_500;
/// So many attempts in a row come within so long less than once in 10,000 times.
const FEW: [(usize, u64); 2] = [(8, 3_000), (10, 8_000)];
const LOOKS_MS: u64 = 9_000;
/// Waits that are all above this share of their limits are not random.
const ALMOST: f64 = 0.9;

async fn play(stage: &mut Stage) -> Played {
    stage.gateway.change(|behavior| behavior.admission = Admission::Refuse);
    stage.start().await?;
    stage.play().await?;
    stage.need("attempt", |log| (!log.attempts().is_empty()).then_some(())).await?;
    stage.sleep(LOOKS_MS).await;
    let _ = stage.until(SOON, |log| (posted(log) && waits(log).len() >= WAITS).then_some(())).await;
    let (waits, times) = (waits(&stage.gateway.log()), times(&stage.gateway.log()));
    stage.judge(&BACKOFF, backs_off(&waits).and_then(|()| few(&times)));
    if waits.len() >= WAITS {
        stage.judge(&JITTER, vary(&waits));
    }
    let has_posted = posted(&stage.gateway.log());
    let expected = "beats by POST /v1/beats after some failed attempts";
    stage.judge(&HTTP, has_posted.then_some(()).ok_or_else(|| Fault::new(expected, "none")));
    Ok(())
}

fn posted(log: &Log) -> bool {
    log.posts().iter().any(|post| !post.beats.is_empty())
}

fn times(log: &Log) -> Vec<u64> {
    log.attempts().iter().map(|(_, ms, _)| *ms).collect()
}

/// From each of the first attempts to the next, in milliseconds. That one begins when its token is asked for.
fn waits(log: &Log) -> Vec<u64> {
    let begins = |from: u64, to: u64| log.tokens_asked().into_iter().find(|ms| (from..to).contains(ms)).unwrap_or(to);
    times(log).windows(2).take(WAITS).map(|pair| begins(pair[0], pair[1]) - pair[0]).collect()
}

fn backs_off(waits: &[u64]) -> Result<(), Fault> {
    let too_long = (0..waits.len()).any(|index| waits[index] > (FIRST_MS << index) + SLACK_MS);
    if waits.len() < WAITS || too_long {
        return Err(Fault::new("4 waits, each below 0.5, 1, 2 and 4 s", format!("waits of {waits:?} ms")));
    }
    Ok(())
}

fn few(times: &[u64]) -> Result<(), Fault> {
    for (attempts, within) in FEW {
        if times.windows(attempts).any(|row| row[attempts - 1] - row[0] < within) {
            return Err(Fault::new("longer and longer waits", format!("{attempts} attempts within {within} ms")));
        }
    }
    Ok(())
}

/// A client without jitter waits for the limit each time, or always for as long.
fn vary(waits: &[u64]) -> Result<(), Fault> {
    let at_the_limit = (0..WAITS).all(|index| waits[index] as f64 > (FIRST_MS << index) as f64 * ALMOST);
    let (least, most) = (waits.iter().min(), waits.iter().max());
    let all_alike = most.zip(least).is_some_and(|(most, least)| *most > 100 && most - least < 25);
    if at_the_limit || all_alike {
        return Err(Fault::new("random waits below 0.5, 1, 2 and 4 s", format!("waits of {waits:?} ms")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_below_limits_that_double() {
        assert_eq!(backs_off(&[310, 90, 1_700, 2_900]), Ok(()));
        for bad in [&[2_100, 300, 300, 300][..], &[300, 300]] {
            assert!(backs_off(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn attempts_become_fewer() {
        assert_eq!(few(&[0, 310, 400, 2_100, 5_000, 5_200, 9_000]), Ok(()));
        let every = |ms: u64| (0..20).map(|number| number * ms).collect::<Vec<_>>();
        for ms in [10, 300, 800] {
            assert!(few(&every(ms)).is_err(), "{ms}");
        }
    }

    #[test]
    fn waits_are_random() {
        assert_eq!(vary(&[310, 90, 1_700, 2_900]), Ok(()));
        assert_eq!(vary(&[1, 1, 2, 1]), Ok(()), "that is the other rule's");
        for bad in [[505, 1_010, 2_020, 4_001], [1_100, 1_300, 2_300, 4_900], [300, 305, 301, 300]] {
            assert!(vary(&bad).is_err(), "{bad:?}");
        }
    }
}
