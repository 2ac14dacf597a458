//! The names of the embedded store as a backend.

use std::sync::Arc;

use heartline::storage::names::Names;
use heartline::storage_embedded::hot_store::EmbeddedNames;

use crate::backends::embedded::Embedded;
use crate::backends::names::NamesBackend;
use crate::backends::requests::{Backend, ROOMY};

pub struct NamesHere {
    // Ends before its store does.
    names: Arc<EmbeddedNames>,
    backend: Embedded,
}

impl NamesHere {
    fn of(backend: Embedded) -> Self {
        NamesHere { names: Arc::new(EmbeddedNames::open(backend.embedded()).unwrap()), backend }
    }
}

impl NamesBackend for NamesHere {
    fn empty() -> Self {
        Self::of(Embedded::fresh(ROOMY))
    }

    fn names(&self) -> Arc<dyn Names> {
        self.names.clone()
    }

    /// One process has the store.
    fn of_another_process(&self) -> Arc<dyn Names> {
        self.names.clone()
    }

    fn reopened(self) -> Self {
        let NamesHere { names, mut backend } = self;
        drop(names);
        backend.reopen(ROOMY);
        Self::of(backend)
    }
}
