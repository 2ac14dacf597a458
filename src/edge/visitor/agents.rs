//! The software and the device of a client, by its user agent.

use std::num::NonZeroUsize;
use std::sync::LazyLock;

use lru::LruCache;
use parking_lot::Mutex;
use serde::Deserialize;
use ua_parser::{os, user_agent};

use super::device;
use model::visitor::{Browser, DeviceClass, Os};

/// Bytes of a user agent that are read; the rest is ignored.
const TEXT_BYTES: usize = 512;
/// Most clients share their user agent with many others, and reading one takes longer than finding it here.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");

/// Takes about 0.1 s and 11 MiB to build: one for all, made for the first client that names its agent. A gateway without
/// one, as most in tests are, starts without it.
static READER: LazyLock<AgentReader> = LazyLock::new(|| AgentReader::build(include_str!("uap-core/regexes.json")));

/// The classes known by a user agent alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AgentClass {
    pub device: Option<DeviceClass>,
    pub os: Option<Os>,
    pub browser: Option<Browser>,
}

/// Bounded by [`REMEMBERED`] texts of [`TEXT_BYTES`].
pub(super) struct Agents {
    /// Locked twice per connection at most.
    recent: Mutex<LruCache<Box<str>, AgentClass>>,
}

struct AgentReader {
    browsers: user_agent::Extractor<'static>,
    systems: os::Extractor<'static>,
}

#[derive(Deserialize)]
struct Regexes {
    user_agent_parsers: Vec<user_agent::Parser<'static>>,
    os_parsers: Vec<os::Parser<'static>>,
}

impl Agents {
    pub fn new() -> Self {
        Agents { recent: Mutex::new(LruCache::new(REMEMBERED)) }
    }

    pub fn class(&self, text: &str) -> AgentClass {
        let text = &text[..text.floor_char_boundary(TEXT_BYTES)];
        if text.trim().is_empty() {
            return AgentClass::default();
        }
        if let Some(class) = self.recent.lock().get(text) {
            return *class;
        }
        let class = READER.read(text);
        self.recent.lock().put(text.into(), class);
        class
    }
}

impl AgentReader {
    fn build(regexes: &str) -> Self {
        let built = || -> Result<Self, Box<dyn std::error::Error>> {
            let Regexes { user_agent_parsers, os_parsers } = serde_json::from_str(regexes)?;
            let browsers = user_agent::Builder::new().push_all(user_agent_parsers)?.build()?;
            let systems = os::Builder::new().push_all(os_parsers)?.build()?;
            Ok(AgentReader { browsers, systems })
        };
        built().expect("the regexes are compiled in, and a test builds them")
    }

    fn read(&self, text: &str) -> AgentClass {
        let system = self.systems.extract(text).map(|system| system.os);
        let browser = self.browsers.extract(text).map(|browser| browser.family);
        AgentClass {
            device: device::of(text, system.as_deref()),
            os: system.as_deref().and_then(Os::of),
            browser: browser.as_deref().and_then(Browser::of),
        }
    }
}

#[cfg(test)]
#[path = "agents_tests.rs"]
mod tests;
