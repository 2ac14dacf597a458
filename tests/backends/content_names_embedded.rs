//! The texts of contents in the embedded store as a backend.

use std::sync::Arc;

use heartline::storage::content_names::ContentNames;
use heartline::storage_embedded::hot_store::EmbeddedContentNames;

use crate::backends::content_names::ContentNamesBackend;
use crate::backends::embedded::Embedded;
use crate::backends::requests::{Backend, NOW, ROOMY};

pub struct ContentNamesHere {
    // Ends before its store does.
    contents: Arc<EmbeddedContentNames>,
    backend: Embedded,
}

impl ContentNamesHere {
    fn of(backend: Embedded) -> Self {
        let contents = EmbeddedContentNames::open(backend.embedded(), Arc::new(|| NOW)).unwrap();
        ContentNamesHere { contents: Arc::new(contents), backend }
    }
}

impl ContentNamesBackend for ContentNamesHere {
    fn empty() -> Self {
        Self::of(Embedded::fresh(ROOMY))
    }

    fn contents(&self) -> Arc<dyn ContentNames> {
        self.contents.clone()
    }

    /// One process has the store.
    fn of_another_process(&self) -> Arc<dyn ContentNames> {
        self.contents.clone()
    }

    fn reopened(self) -> Self {
        let ContentNamesHere { contents, mut backend } = self;
        drop(contents);
        backend.reopen(ROOMY);
        Self::of(backend)
    }
}
