//! A URL that rotates its keys, fails, and answers badly.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::auth::test_keys::{EC_1, OCT_1, RSA_1, RSA_2, TestKey};
use crate::auth::{AuthConfig, Subject, TokenError, Verifier};
use model::ids::UserId;
use model::secret::Secret;

const URL: &str = "https://id.example/keys";
const NOW: u64 = 1_795_000_000_000;

struct Scene {
    answer: Arc<Mutex<Result<Published, String>>>,
    fetches: Arc<AtomicUsize>,
    data: TempDir,
}

/// With a gateway's view of the URL.
struct Running {
    verifier: Arc<Verifier>,
    keys: Arc<KeyUrl>,
}

fn set(keys: &[&TestKey]) -> Result<Published, String> {
    let keys: Vec<_> = keys.iter().map(|key| key.jwk()).collect();
    Ok(Published { text: json!({ "keys": keys }).to_string(), max_age: None })
}

impl Scene {
    fn new(answer: Result<Published, String>) -> Self {
        let (answer, data) = (Arc::new(Mutex::new(answer)), tempfile::tempdir().expect("a folder"));
        Scene { answer, fetches: Arc::default(), data }
    }

    fn answers(&self, answer: Result<Published, String>) {
        *self.answer.lock() = answer;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }

    fn start(&self) -> Running {
        let config = AuthConfig::of_secret(Secret::new(String::new()));
        let (answer, fetches) = (self.answer.clone(), self.fetches.clone());
        let fetch: Fetch = Box::new(move || {
            fetches.fetch_add(1, Ordering::Relaxed);
            let answer = answer.lock().clone();
            Box::pin(async move { answer })
        });
        let keys = KeyUrl::new(URL, Duration::from_mins(10), self.data.path(), fetch);
        let verifier = Arc::new(Verifier::with_url(&config, None, Some(keys.clone())).expect("keys"));
        let (running, accepting) = (keys.clone(), verifier.clone());
        tokio::spawn(async move { running.run(|keys| accepting.use_keys_of_url(keys), || NOW).await });
        Running { verifier, keys }
    }
}

const USER: Subject = Subject::Number(UserId(42));

impl Running {
    /// As a connection does it.
    async fn judge(&self, key: &TestKey) -> Result<Subject, TokenError> {
        let token = key.sign(&json!({"sub": "42", "exp": NOW / 1000 + 60}));
        if let Some(published) = self.verifier.awaited_key(&token) {
            published.await;
        }
        self.verifier.verify(&token, NOW).map(|identity| identity.subject)
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_key_is_fetched_for_its_first_token_and_at_most_once_a_minute() {
    let scene = Scene::new(set(&[&RSA_1]));
    let running = scene.start();
    running.keys.first().await;
    assert_eq!((running.judge(&RSA_1).await, scene.fetches()), (Ok(USER), 1));
    scene.answers(set(&[&RSA_1, &EC_1]));
    assert_eq!((running.judge(&EC_1).await, scene.fetches()), (Ok(USER), 2));
    // Further unknown keys cause no fetch.
    for _ in 0..50 {
        assert_eq!(running.judge(&RSA_2).await, Err(TokenError::UnknownKid));
    }
    assert_eq!(scene.fetches(), 2);
    sleep(UNKNOWN_EVERY).await;
    assert_eq!((running.judge(&RSA_2).await, scene.fetches()), (Err(TokenError::UnknownKid), 3));
}

#[tokio::test(start_paused = true)]
async fn the_last_good_keys_stay_while_answers_are_bad() {
    let scene = Scene::new(set(&[&RSA_1]));
    let running = scene.start();
    running.keys.first().await;
    let bad = ["{", "[]", r#"{"keys":[]}"#, r#"{"keys":[{"kty":"RSA"}]}"#];
    let bad = bad.map(|text| Ok(Published { text: text.to_owned(), max_age: None }));
    for answer in bad.into_iter().chain([Err("it answered 500".to_owned()), set(&[&OCT_1])]) {
        scene.answers(answer.clone());
        sleep(Duration::from_mins(11)).await;
        assert_eq!(running.judge(&RSA_1).await, Ok(USER), "{answer:?}");
        assert!(running.keys.trouble().is_some_and(|trouble| trouble.ends_with("are in force")), "{answer:?}");
        assert!(running.judge(&OCT_1).await.is_err(), "a published secret is no key");
    }
    scene.answers(set(&[&EC_1]));
    sleep(Duration::from_mins(1)).await;
    assert_eq!((running.judge(&EC_1).await, running.keys.trouble()), (Ok(USER), None));
    assert!(running.judge(&RSA_1).await.is_err(), "it is published no more");
}

#[tokio::test(start_paused = true)]
async fn an_answer_says_how_long_it_is_good_within_bounds() {
    for (max_age, every) in [(0, 60), (3_600, 3_600), (1_000_000, 86_400)] {
        let answer = Published { max_age: Some(Duration::from_secs(max_age)), ..set(&[&RSA_1]).expect("a set") };
        let scene = Scene::new(Ok(answer));
        let _running = scene.start();
        sleep(Duration::from_secs(every - 1)).await;
        assert_eq!(scene.fetches(), 1, "{max_age}");
        sleep(Duration::from_secs(2)).await;
        assert_eq!(scene.fetches(), 2, "{max_age}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_without_an_answer_waits_unless_keys_of_this_url_were_kept() {
    let scene = Scene::new(Err("no connection".to_owned()));
    let running = scene.start();
    assert!(timeout(Duration::from_mins(5), running.keys.first()).await.is_err());
    assert!(running.keys.trouble().is_some_and(|trouble| trouble.ends_with("no token can be checked")));
    scene.answers(set(&[&RSA_1]));
    running.keys.first().await;
    assert_eq!(running.judge(&RSA_1).await, Ok(USER));
    scene.answers(Err("no connection".to_owned()));
    let next = scene.start();
    next.keys.first().await;
    assert_eq!((next.judge(&RSA_1).await, next.keys.fetched_at()), (Ok(USER), Some(NOW)));
    let kept = std::fs::read_to_string(scene.data.path().join(KEPT)).expect("the kept set");
    std::fs::write(scene.data.path().join(KEPT), kept.replace(URL, "https://other.example/keys")).expect("written");
    let other = scene.start();
    assert!(timeout(Duration::from_mins(5), other.keys.first()).await.is_err(), "those are another's keys");
}
