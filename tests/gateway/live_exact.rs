//! The live numbers against an exact count: 10,000 sessions that come, pause, seek, end, die and return.

use std::collections::BTreeMap;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use futures_util::future::join_all;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;

use crate::support::{Beat, TestClient, TestGateway, beat, until};

const USERS: u64 = 400;
const SESSIONS: u64 = 25;
/// Each session has contents of its own among those of its user: what another session plays does not reject its beats.
const CONTENTS: u64 = 4;
const ROUNDS: u64 = 12;
const TIMEOUT_MS: u64 = 6_000;
/// What was acked so long ago is in the numbers, whatever comes meanwhile.
const LATE_MS: u64 = 1_000;
/// Sessions that come, go and return must not gather.
const GROWTH_BYTES_MAX: u64 = 48 << 20;

/// What happened to a session, in the order in which it did.
#[derive(Clone, Copy)]
struct Step {
    /// Milliseconds of the clock: when it was sent, and when it was answered.
    sent: u64,
    acked: u64,
    what: What,
}

#[derive(Clone, Copy, PartialEq)]
enum What {
    Played { at: u64, oid: u64 },
    Ended,
}

/// A session as the test knows it.
#[derive(Clone, Default)]
struct Session {
    steps: Vec<Step>,
    /// It sends nothing until it returns.
    is_dead: bool,
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis() as u64
}

impl Session {
    fn oid(&self, own: u64) -> u64 {
        let played = self.steps.iter().rev().find_map(|step| match step.what {
            What::Played { oid, .. } => Some(oid),
            What::Ended => None,
        });
        played.unwrap_or(own)
    }

    /// What the numbers of the moment `moment` must count, if all that was acked is in them.
    fn content_at(&self, moment: u64) -> Option<u64> {
        match self.steps.last()?.what {
            What::Played { at, oid } if at + TIMEOUT_MS > moment => Some(oid),
            _ => None,
        }
    }

    /// Whether they must count it, while steps are under way: it was live for the whole second before.
    fn must_be_live(&self, moment: u64) -> bool {
        let ended_since = |played: usize| {
            let later = &self.steps[played..];
            later.iter().any(|step| step.what == What::Ended && step.sent <= moment)
        };
        self.steps.iter().enumerate().any(|(index, step)| {
            matches!(step.what, What::Played { at, .. } if at + TIMEOUT_MS > moment && step.acked + LATE_MS <= moment)
                && !ended_since(index)
        })
    }

    /// Whether they may count it: it was live at any moment of that second.
    fn may_be_live(&self, moment: u64) -> bool {
        let ended_before = |played: usize| {
            let later = &self.steps[played..];
            later.iter().any(|step| step.what == What::Ended && step.acked + LATE_MS <= moment)
        };
        self.steps.iter().enumerate().any(|(index, step)| {
            matches!(step.what, What::Played { at, .. } if at + TIMEOUT_MS + LATE_MS > moment && step.sent <= moment)
                && !ended_before(index)
        })
    }
}

/// A user with a socket and all sessions of it.
struct User {
    mid: u64,
    client: TestClient,
    sessions: Vec<Session>,
    chance: StdRng,
}

impl User {
    /// One frame: what each session does this second.
    async fn round(&mut self) {
        let sent = now();
        let (mut items, mut steps) = (Vec::new(), Vec::new());
        for number in 0..SESSIONS as usize {
            if let Some((beat, what)) = self.act(number, sent) {
                items.push(beat);
                steps.extend(what.map(|what| (number, what)));
            }
        }
        self.client.watch(items).await;
        let acked = now();
        for (number, what) in steps {
            self.sessions[number].steps.push(Step { sent, acked, what });
        }
    }

    fn act(&mut self, number: usize, at: u64) -> Option<(Beat, Option<What>)> {
        let own = number as u64 * CONTENTS;
        let session = &mut self.sessions[number];
        let chance = self.chance.random_range(0..100);
        let (oid, is_new) = (session.oid(own), session.steps.is_empty());
        let made = |oid: u64| beat(oid, at).session(number as u64 + 1);
        let played = |oid: u64| Some((made(oid), Some(What::Played { at, oid })));
        if is_new || session.is_dead {
            // It comes, or returns.
            let comes = is_new || chance < 30;
            session.is_dead &= !comes;
            return if comes { played(oid) } else { None };
        }
        match chance {
            0..50 => played(oid),
            50..65 => played(own + self.chance.random_range(0..CONTENTS)),
            65..73 => Some((made(oid).state("paused"), None)),
            73..80 => Some((made(oid).state("seeked").pos(at % 100_000), None)),
            80..90 => Some((made(oid).state("ended"), Some(What::Ended))),
            _ => {
                session.is_dead = true;
                None
            }
        }
    }

    /// An operator ends all that it plays.
    async fn end_by(&mut self, gateway: &TestGateway, path: &str) {
        let sent = now();
        let answer = gateway.control().post(path, &json!({"mid": self.mid.to_string()})).await;
        assert_eq!(answer.status, 204, "{}", answer.text());
        let step = Step { sent, acked: now(), what: What::Ended };
        self.sessions.iter_mut().for_each(|session| session.steps.push(step));
    }
}

/// `at` and `sessions` of the newest numbers.
async fn sample(gateway: &TestGateway) -> (u64, u64) {
    let live = gateway.control().get("/v1/live").await.json();
    (live["at"].as_u64().expect("a time"), live["sessions"].as_u64().expect("a number"))
}

/// Samples while `work` goes on.
async fn sampled(gateway: &TestGateway, work: impl Future) -> Vec<(u64, u64)> {
    let mut work = std::pin::pin!(work);
    let mut samples = Vec::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut work => return samples,
            sample = sample(gateway) => samples.push(sample),
        }
    }
}

/// After a second without steps nothing is late: each number is the test's own.
async fn assert_exact(gateway: &TestGateway, users: &[User]) {
    let rest = now() + LATE_MS;
    let mut at = 0;
    until("numbers of a second without steps", async || {
        at = sample(gateway).await.0;
        at >= rest
    })
    .await;
    let live = gateway.control().get("/v1/live").await.json();
    let at = live["at"].as_u64().expect("a time");
    let (mut contents, mut watching) = (BTreeMap::<u64, u64>::new(), 0_u64);
    for user in users {
        let watched: Vec<u64> = user.sessions.iter().filter_map(|session| session.content_at(at)).collect();
        watching += u64::from(!watched.is_empty());
        watched.into_iter().for_each(|oid| *contents.entry(oid).or_default() += 1);
    }
    let sessions: u64 = contents.values().sum();
    assert_eq!((&live["sessions"], &live["users"]), (&json!(sessions), &json!(watching)), "at {at}");
    let top = gateway.control().get("/v1/live/top?limit=100").await.json();
    // Unless a second has begun meanwhile.
    if sample(gateway).await.0 == at {
        let listed = top["top"].as_array().expect("a list").iter();
        let told = listed.map(|content| (content["oid"].as_str().expect("an oid").parse().expect("a number"), content));
        let told: BTreeMap<u64, u64> =
            told.map(|(oid, content)| (oid, content["sessions"].as_u64().expect("a number"))).collect();
        assert_eq!((told, &top["error"]), (contents, &json!(0)));
    }
}

fn resident(gateway: &TestGateway) -> u64 {
    let pages = fs::read_to_string(format!("/proc/{}/statm", gateway.pid())).expect("a process");
    pages.split_whitespace().nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages") * 4_096
}

#[tokio::test]
async fn ten_thousand_sessions_are_counted_exactly() {
    let timeout = format!("{TIMEOUT_MS}ms");
    let gateway = TestGateway::with(&[("live.timeout", &timeout), ("limits.bytes_per_second", "16777216")]);
    let mut users = Vec::new();
    for mid in 1..=USERS {
        let (client, chance) = (gateway.connect(mid).await, StdRng::seed_from_u64(mid));
        users.push(User { mid, client, sessions: vec![Session::default(); SESSIONS as usize], chance });
    }
    let (mut samples, mut memory) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        samples.extend(sampled(&gateway, join_all(users.iter_mut().map(User::round))).await);
        if round % 4 == 1 {
            let (mut kicked, mut erased) = (users.pop().expect("a user"), users.pop().expect("a user"));
            kicked.end_by(&gateway, "/v1/kick").await;
            erased.end_by(&gateway, "/v1/erase").await;
            assert!(kicked.sessions.iter().chain(&erased.sessions).all(|session| session.content_at(now()).is_none()));
        }
        if round % 2 == 1 {
            assert_exact(&gateway, &users).await;
            memory.push(resident(&gateway));
        }
    }
    let counted: Vec<&Session> = users.iter().flat_map(|user| &user.sessions).collect();
    for (at, sessions) in &samples {
        let least = counted.iter().filter(|session| session.must_be_live(*at)).count() as u64;
        // Those of users who were kicked or erased meanwhile.
        let gone = (USERS - users.len() as u64) * SESSIONS;
        let most = counted.iter().filter(|session| session.may_be_live(*at)).count() as u64 + gone;
        assert!((least..=most).contains(sessions), "{sessions} at {at}, and it was {least} to {most}");
    }
    let views: BTreeMap<u64, u64> = samples.into_iter().collect();
    assert!(views.len() >= ROUNDS as usize / 2, "{} samples", views.len());
    let (first, last) = (memory[1], memory[memory.len() - 1]);
    assert!(last < first + GROWTH_BYTES_MAX, "{first} bytes, then {last}");
    for metric in ["heartline_live_late_total", "heartline_live_uncounted_total"] {
        assert_eq!(gateway.metric(metric).await, 0.0, "{metric}");
    }
    // All of them die.
    until("the end of the last session", async || sample(&gateway).await.1 == 0).await;
    assert_exact(&gateway, &users).await;
}
