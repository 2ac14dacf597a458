//! The promises of [`ContentNames`], for all of its backends.

use std::sync::{Arc, Barrier};
use std::thread;

use heartline::model::content_name::ContentName;
use heartline::storage::content_names::ContentNames;
use heartline::storage::store_error::Answer;

use crate::backends::requests::wait;

pub trait ContentNamesBackend: Sized {
    fn empty() -> Self;
    fn contents(&self) -> Arc<dyn ContentNames>;
    /// The texts as another process has them, if several may.
    fn of_another_process(&self) -> Arc<dyn ContentNames>;
    /// As after the end of the process.
    fn reopened(self) -> Self;
}

/// Texts that differ in what something might fold, trim, decode or cut off.
const ODD: [&str; 14] =
    ["film", "Film", "film ", " film", "фilm", "fílm", "42", "042", "%2F", "/", "...", "{h1}", "1:100", "🎬"];

fn answered<T>(answer: Answer<T>) -> T {
    wait(answer).unwrap_or_else(|error| panic!("{error}"))
}

fn name(text: &str) -> ContentName {
    ContentName::new(text).unwrap()
}

fn names(texts: &[&str]) -> Vec<ContentName> {
    texts.iter().map(|text| name(text)).collect()
}

fn texts(contents: &Arc<dyn ContentNames>, names: &[ContentName]) -> Vec<Option<ContentName>> {
    answered(contents.texts(names.iter().map(ContentName::oid).collect()))
}

pub fn each_text_is_given_back_byte_by_byte<B: ContentNamesBackend>() {
    let backend = B::empty();
    let contents = backend.contents();
    let longest = "n".repeat(ContentName::BYTES_MAX);
    let odd: Vec<_> = names(&ODD).into_iter().chain([name(&longest)]).collect();
    assert_eq!(answered(contents.keep(odd.clone())), odd);
    assert_eq!(texts(&contents, &odd), odd.iter().cloned().map(Some).collect::<Vec<_>>());
    // Again, with a new one, and in another order.
    let again = names(&["042", "new", "film"]);
    assert_eq!(answered(contents.keep(again.clone())), again);
    assert_eq!(texts(&contents, &again), again.into_iter().map(Some).collect::<Vec<_>>());
}

pub fn a_read_keeps_nothing<B: ContentNamesBackend>() {
    let backend = B::empty();
    let contents = backend.contents();
    let asked = names(&["a", "b", "a"]);
    assert_eq!(texts(&contents, &asked), [None, None, None]);
    assert_eq!(texts(&contents, &[]), []);
    assert_eq!(answered(contents.keep(Vec::new())), []);
    answered(contents.keep(names(&["b"])));
    assert_eq!(texts(&contents, &asked), [None, Some(name("b")), None]);
}

pub fn texts_are_there_after_the_end_of_the_process<B: ContentNamesBackend>() {
    let backend = B::empty();
    answered(backend.contents().keep(names(&["film", "song"])));
    let backend = backend.reopened();
    let asked = names(&["song", "film"]);
    assert_eq!(texts(&backend.contents(), &asked), asked.into_iter().map(Some).collect::<Vec<_>>());
}

/// Two processes, each with several threads, keep the same new texts at the same time.
pub fn texts_at_one_time_are_all_kept<B: ContentNamesBackend>() {
    let backend = B::empty();
    let all: Arc<Vec<_>> = Arc::new((0..300).map(|index| name(&format!("content-{index}"))).collect());
    let threads = [backend.contents(), backend.contents(), backend.of_another_process(), backend.of_another_process()];
    let together = Arc::new(Barrier::new(threads.len()));
    let threads = threads.map(|contents| {
        let (all, together) = (all.clone(), together.clone());
        thread::spawn(move || {
            for some in all.chunks(7) {
                together.wait();
                assert_eq!(answered(contents.keep(some.to_vec())), some);
            }
        })
    });
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(texts(&backend.contents(), &all), all.iter().cloned().map(Some).collect::<Vec<_>>());
}
