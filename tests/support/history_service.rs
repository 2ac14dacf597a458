//! The history service of a gateway without a store: the same binary, with the same settings and an embedded store.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::thread;

use tempfile::TempDir;

use super::binary::{Settings, command};
use super::gateway::metric;
use super::{CONTROL_TOKEN, Http, SECRET};

/// Its process may change; its addresses, once it has some, and its data stay.
pub struct HistoryService {
    directory: TempDir,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    child: Option<Child>,
    /// By the setting.
    addresses: HashMap<&'static str, SocketAddr>,
}

const LISTENERS: [&str; 3] = ["grpc.listen", "admin.listen", "control.listen"];

impl Default for HistoryService {
    fn default() -> Self {
        HistoryService { directory: tempfile::tempdir().expect("a temporary directory"), state: Mutex::default() }
    }
}

impl HistoryService {
    /// As a gateway names it; that of no service before the first start.
    pub fn address(&self) -> String {
        let place = self.state().addresses.get("grpc.listen").copied();
        format!("http://{}", place.unwrap_or(([127, 0, 0, 1], 1).into()))
    }

    /// Its control listener, with the token.
    pub fn control(&self) -> Http {
        Http::to(self.state().addresses["control.listen"]).bearer(CONTROL_TOKEN)
    }

    /// Its probe listener.
    pub fn admin(&self) -> Http {
        Http::to(self.state().addresses["admin.listen"])
    }

    /// The value of one metric, labels included in the name; absent is 0.
    pub async fn metric(&self, name: &str) -> f64 {
        metric(&self.admin(), name).await
    }

    /// Ends the process if there is one, and starts another with the settings of its gateway.
    pub fn start(&self, settings: &[(&str, &str)]) {
        self.kill();
        let mut child = command(&["serve", "--role", "history"], &self.settings(settings), self.directory.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary runs");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines().map_while(Result::ok);
        let mut state = self.state();
        for line in lines.by_ref() {
            let Some((_, place)) = line.split_once("http://") else { continue };
            let place = place.split([' ', ')']).next().and_then(|place| place.parse().ok()).expect("an address");
            match line.split(' ').next() {
                Some("grpc") => drop(state.addresses.insert("grpc.listen", place)),
                Some("heartline") => drop(state.addresses.insert("admin.listen", place)),
                _ => {
                    state.addresses.insert("control.listen", place);
                    state.child = Some(child);
                    thread::spawn(move || lines.for_each(drop));
                    return;
                }
            }
        }
        // It refuses the settings. The gateway is asked for what is wrong with them.
        let _ = child.wait();
    }

    pub fn kill(&self) {
        if let Some(mut child) = self.state().child.take() {
            child.kill().expect("a process to kill");
            child.wait().expect("its end");
        }
    }

    fn settings(&self, settings: &[(&str, &str)]) -> Settings {
        let own = |setting: &str| ["server.", "admin.", "control.", "log."].iter().any(|of| setting.starts_with(of));
        let data = self.directory.path().join("data").to_str().expect("an ASCII path").to_owned();
        let fixed = [("control.token", CONTROL_TOKEN), ("auth.hs256_secret", SECRET), ("store.data_dir", &data)];
        let given = settings.iter().copied().filter(|(setting, _)| !own(setting));
        let merged = fixed.into_iter().chain(given).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let state = self.state();
        let place = |listener| state.addresses.get(listener).map_or("127.0.0.1:0".to_owned(), ToString::to_string);
        merged.chain(LISTENERS.map(|listener| (listener.to_owned(), place(listener)))).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }
}

impl Drop for HistoryService {
    fn drop(&mut self) {
        self.kill();
    }
}
