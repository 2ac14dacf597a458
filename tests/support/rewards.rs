//! Rewards as a player, a consumer of events and an operator see them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{Acked, Beat, Http, PATIENCE, TestClient, TestGateway, beat, beats, items};

/// Of one page of events, and of what is waited for between two looks.
const PAGE: usize = 1_000;
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What a killed gateway has left in Redis another process publishes, but not before it is so old.
const TAKEOVER: Duration = Duration::from_secs(15);

/// One reward a day for each user, as the settings have it.
pub fn per_user(id: &str, watched: &str) -> String {
    format!(r#"{{ id = "{id}", per = "user", kinds = [], watched = "{watched}", exact = true }}"#)
}

/// One a day for each content of a user; never denied wrongly.
pub fn per_content(id: &str, watched: &str) -> String {
    format!(r#"{{ id = "{id}", per = "content", kinds = [], watched = "{watched}", exact = true }}"#)
}

/// The value of `rewards.rules`.
pub fn rules<'a>(rules: impl IntoIterator<Item = &'a String>) -> String {
    let rules: Vec<&str> = rules.into_iter().map(String::as_str).collect();
    format!("[{}]", rules.join(", "))
}

impl TestGateway {
    pub fn rewarding<'a>(one_or_more: impl IntoIterator<Item = &'a String>) -> Self {
        Self::rewarding_with(one_or_more, &[])
    }

    pub fn rewarding_with<'a>(one_or_more: impl IntoIterator<Item = &'a String>, settings: &[(&str, &str)]) -> Self {
        let rules = rules(one_or_more);
        let mut all = vec![("rewards.rules", rules.as_str())];
        all.extend(settings);
        Self::with(&all)
    }

    /// What was claimed by a rule since the start of the process.
    pub async fn claims(&self, rule: &str) -> u64 {
        self.store_metric(&format!(r#"heartline_reward_claims_total{{rule="{rule}"}}"#)).await as u64
    }

    /// All of the event log, from the start: `{"offset":…,"event":{…}}` each.
    pub async fn event_log(&self) -> Vec<Value> {
        let mut all: Vec<Value> = Vec::new();
        let mut path = format!("/v1/events?limit={PAGE}");
        loop {
            let mut page = self.store_control().get(&path).await.json();
            let Value::Array(some) = page["events"].take() else { panic!("no events in {page}") };
            let whole = some.len() == PAGE;
            all.extend(some);
            if !whole {
                return all;
            }
            path = format!("/v1/events?limit={PAGE}&after={}", page["next"]);
        }
    }

    /// Waits until there are so many events, and returns them: of a gateway that was not killed, one for each claim.
    pub async fn events(&self, count: usize) -> Vec<Value> {
        let deadline = Instant::now() + self.events_follow();
        loop {
            let log = self.event_log().await;
            if log.len() >= count {
                return log.into_iter().map(|mut entry| entry["event"].take()).collect();
            }
            assert!(Instant::now() < deadline, "{} events, {count} expected", log.len());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Waits until there are events of so many claims, and returns their ids. After SIGKILL an event may come once
    /// more.
    pub async fn event_ids(&self, claims: usize) -> BTreeSet<String> {
        let deadline = Instant::now() + self.events_follow();
        loop {
            let log = self.event_log().await;
            let id = |entry: &Value| entry["event"]["id"].as_str().expect("an id").to_owned();
            let ids: BTreeSet<String> = log.iter().map(id).collect();
            if ids.len() >= claims {
                return ids;
            }
            assert!(Instant::now() < deadline, "events of {} claims, {claims} expected", ids.len());
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// How long the events of what was claimed may take.
    fn events_follow(&self) -> Duration {
        if self.is_on_redis() { PATIENCE + TAKEOVER } else { PATIENCE }
    }

    /// The rewards of a user today, by their ids.
    pub async fn rewards_today(&self, mid: u64) -> BTreeMap<String, Value> {
        let today = self.http(mid).get("/v1/rewards/today").await.json();
        let rewards = today["rewards"].as_array().expect("rewards").iter();
        rewards.map(|reward| (reward["id"].as_str().expect("an id").to_owned(), reward.clone())).collect()
    }

    /// The server's day and its clock, milliseconds.
    pub async fn today_and_now(&self) -> (String, u64) {
        let answer = self.http(u64::MAX).post("/v1/beats", &items([])).await.json();
        (answer["today"].as_str().expect("today").to_owned(), answer["now"].as_u64().expect("now"))
    }

    /// Waits until what was claimed today is remembered, which is known of a gateway that logs at debug.
    pub async fn remembers(&self) {
        self.wait_for_log("loaded the claims of today").await;
    }

    /// SIGTERM, and a new process on the same data directory.
    pub async fn drain_and_restart(&mut self) {
        self.terminate();
        assert!(self.ended().await.success());
        *self = self.beside().unwrap_or_else(|failed| panic!("no restart: {failed:?}"));
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TestClient<S> {
    /// The day that the welcome named.
    pub fn today(&self) -> String {
        self.welcome()["today"].as_str().expect("today").to_owned()
    }

    /// Sends one frame of beats with this flag, and waits for its ack; none of them may be rejected.
    pub async fn play(&mut self, flag: Option<&str>, items: impl IntoIterator<Item = Beat>) -> Acked {
        let mut frame = beats(items);
        if let Some(flag) = flag {
            frame["beats"]["flag"] = json!(flag);
        }
        let seq = self.send(frame).await;
        let acked = self.acked(seq).await;
        assert!(acked.rejected.is_empty(), "rejected: {:?}", acked.rejected);
        acked
    }

    /// Begins to play content (1, `oid`), goes on for `length`, and returns the ack of the beat at its end.
    pub async fn play_for(&mut self, oid: u64, length: Duration) -> Acked {
        let at = self.now();
        self.play(None, [beat(oid, at)]).await;
        tokio::time::sleep(length).await;
        // A slow machine may have taken longer: what was played is no more than that.
        self.play(None, [beat(oid, at + length.as_millis() as u64).watched(5_000 + length.as_millis() as u64)]).await
    }

    pub async fn reward(&mut self) -> Value {
        self.wait_for("a reward", |frame| frame["reward"].is_object()).await["reward"].take()
    }

    pub async fn pushed_flag(&mut self) -> Value {
        let has_flag = |frame: &Value| !frame["push"]["flag"].is_null();
        self.wait_for("push.flag", has_flag).await["push"]["flag"].take()
    }

    /// Everything that was said before has been read, and nothing of it was a reward or a flag.
    pub async fn was_given_nothing(&mut self) {
        self.still_serves().await;
        assert!(self.kept("reward").is_empty(), "{:?}", self.kept("reward"));
        let flags = self.kept("push").into_iter().filter(|push| push.get("flag").is_some());
        assert_eq!(flags.count(), 0, "{:?}", self.kept("push"));
    }
}

impl Acked {
    /// The flag of the ack that covered the frame.
    pub fn flag(&self) -> Option<&str> {
        self.last.get("flag").map(|flag| flag.as_str().expect("a flag"))
    }
}

/// Beats over HTTP; none of them may be rejected.
pub async fn post_beats(http: &Http, flag: Option<&str>, beats: impl IntoIterator<Item = Beat>) -> Value {
    let mut body = items(beats);
    if let Some(flag) = flag {
        body["flag"] = json!(flag);
    }
    let answer = http.post("/v1/beats", &body).await.json();
    assert_eq!(answer["rejected"], json!([]), "{answer}");
    answer
}
