//! The promises of [`Names`], for all of its backends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Barrier};
use std::thread;

use heartline::model::ids::UserId;
use heartline::model::user_name::UserName;
use heartline::storage::names::{NameText, Names};
use heartline::storage::store_error::Answer;

use crate::backends::requests::wait;
use crate::support::depth::depth;

pub trait NamesBackend: Sized {
    fn empty() -> Self;
    fn names(&self) -> Arc<dyn Names>;
    /// The names as another process has them, if several may.
    fn of_another_process(&self) -> Arc<dyn Names>;
    /// As after the end of the process.
    fn reopened(self) -> Self;
}

/// Texts that differ in what something might fold, trim, decode or cut off.
const ODD: [&str; 18] = [
    "ann",
    "Ann",
    "ann ",
    " ann",
    "аnn",
    "ånn",
    "a\u{30a}nn",
    "42",
    "042",
    "42.0",
    "+42",
    "%2F",
    "/",
    "..",
    "{h1}",
    "a:b",
    "🎬",
    "auth0|640503a5e7c1",
];

fn answered<T>(answer: Answer<T>) -> T {
    wait(answer).unwrap_or_else(|error| panic!("{error}"))
}

fn name(text: &str) -> UserName {
    UserName::new(text).unwrap()
}

fn number(names: &Arc<dyn Names>, text: &str) -> UserId {
    answered(names.number(name(text)))
}

fn numbers(names: &Arc<dyn Names>, texts: &[&str]) -> Vec<Option<UserId>> {
    let found = answered(names.numbers(texts.iter().map(|text| name(text)).collect()));
    found.into_iter().map(|found| found.map(|found| found.user)).collect()
}

/// Whether the text of this name was dropped.
fn is_dropped(names: &Arc<dyn Names>, text: &str) -> bool {
    answered(names.numbers(vec![name(text)])).swap_remove(0).expect("a number").is_dropped
}

fn text(names: &Arc<dyn Names>, user: UserId) -> Option<NameText> {
    answered(names.texts(vec![user])).swap_remove(0)
}

fn known(text: &str) -> Option<NameText> {
    Some(NameText::Known(name(text)))
}

pub fn each_name_has_a_number_of_its_own<B: NamesBackend>() {
    let backend = B::empty();
    let names = backend.names();
    let longest = "n".repeat(UserName::BYTES_MAX);
    let texts = || ODD.into_iter().chain([&*longest]);
    let given: BTreeMap<UserId, &str> = texts().map(|text| (number(&names, text), text)).collect();
    assert_eq!(given.len(), texts().count(), "two names have one number");
    assert!(given.keys().all(|user| (1..1 << 32).contains(&user.0)), "numbers count from 1");
    for (user, text) in &given {
        assert_eq!(number(&names, text), *user, "{text:?} got another one");
    }
    let users: Vec<UserId> = given.keys().copied().collect();
    let told = answered(names.texts(users));
    assert_eq!(told, given.values().map(|text| known(text)).collect::<Vec<_>>());
    let asked: Vec<&str> = given.values().copied().collect();
    assert_eq!(numbers(&names, &asked), given.keys().map(|user| Some(*user)).collect::<Vec<_>>());
}

pub fn a_read_gives_no_number<B: NamesBackend>() {
    let backend = B::empty();
    let names = backend.names();
    assert_eq!(numbers(&names, &["ann", "ben", "ann"]), [None, None, None]);
    assert_eq!(numbers(&names, &[]), []);
    let ben = number(&names, "ben");
    assert_eq!(numbers(&names, &["ann", "ben", "ann"]), [None, Some(ben), None]);
    let unknown = [name("ann").stand_in(), UserId(0), UserId(ben.0 + 1_000_000), UserId(u64::MAX)];
    assert_eq!(answered(names.texts(unknown.to_vec())), [None, None, None, None]);
}

pub fn a_dropped_text_comes_back_with_the_next_welcome<B: NamesBackend>() {
    let backend = B::empty();
    let names = backend.names();
    let (ann, ben) = (number(&names, "ann"), number(&names, "ben"));
    for _ in 0..2 {
        answered(names.drop_text(ann));
        assert_eq!(text(&names, ann), Some(NameText::Dropped));
        assert_eq!(numbers(&names, &["ann", "ben"]), [Some(ann), Some(ben)], "the name keeps its number");
        assert_eq!(text(&names, ben), known("ben"));
        assert!(is_dropped(&names, "ann") && !is_dropped(&names, "ben"));
        assert_eq!(text(&names, ann), Some(NameText::Dropped), "a read writes nothing");
    }
    assert_eq!(number(&names, "ann"), ann);
    assert_eq!((text(&names, ann), is_dropped(&names, "ann")), (known("ann"), false));
    answered(names.drop_text(UserId(u64::MAX)));
    assert_eq!(text(&names, UserId(u64::MAX)), None);
}

pub fn names_are_there_after_the_end_of_the_process<B: NamesBackend>() {
    let backend = B::empty();
    let (ann, ben) = (number(&backend.names(), "ann"), number(&backend.names(), "ben"));
    answered(backend.names().drop_text(ben));
    let backend = backend.reopened();
    let names = backend.names();
    assert_eq!(numbers(&names, &["ann", "ben"]), [Some(ann), Some(ben)]);
    assert_eq!((text(&names, ann), text(&names, ben)), (known("ann"), Some(NameText::Dropped)));
    let eve = number(&names, "eve");
    assert!(eve != ann && eve != ben);
    assert_eq!(number(&names, "ben"), ben);
    assert_eq!(text(&names, ben), known("ben"));
}

/// Two processes, each with several threads, ask for the same new names at the same time.
pub fn names_at_one_time_get_one_number_each<B: NamesBackend>() {
    let backend = B::empty();
    let count = depth(400, 25_000);
    let texts: Arc<Vec<String>> = Arc::new((0..count).map(|index| format!("user-{index}")).collect());
    let threads = [backend.names(), backend.names(), backend.of_another_process(), backend.of_another_process()];
    let together = Arc::new(Barrier::new(threads.len()));
    let threads = threads.map(|names| {
        let (texts, together) = (texts.clone(), together.clone());
        thread::spawn(move || {
            let ask = |text: &String| {
                together.wait();
                number(&names, text)
            };
            texts.iter().map(ask).collect::<Vec<UserId>>()
        })
    });
    let of_threads: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
    assert!(of_threads.iter().all(|given| *given == of_threads[0]), "a name has two numbers");
    assert_eq!(of_threads[0].iter().collect::<BTreeSet<_>>().len(), texts.len(), "two names have one number");
    let told = answered(backend.names().texts(of_threads[0].clone()));
    assert!(told.into_iter().zip(texts.iter()).all(|(told, text)| told == known(text)), "a number has another text");
}
