//! A gateway of its own, on free ports.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use jsonwebtoken::{EncodingKey, Header, encode};
use serde_json::json;
use tempfile::TempDir;

const KEY: &str = "a-key-of-the-benchmark-that-is-long-enough-for-hs256";
/// The year 2100.
const EXPIRES: u64 = 4_102_444_800;

pub struct Gateway {
    process: Child,
    /// `127.0.0.1:PORT`
    pub address: String,
    _dir: TempDir,
}

impl Gateway {
    pub fn start() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut command = Command::new(env!("CARGO_BIN_EXE_heartline"));
        for listener in ["SERVER", "ADMIN", "CONTROL"] {
            command.env(format!("HEARTLINE__{listener}__LISTEN"), "127.0.0.1:0");
        }
        command
            .env("HEARTLINE__STORE__DATA_DIR", dir.path())
            .env("HEARTLINE__AUTH__HS256_SECRET", KEY)
            // All pages ask from one address.
            .env("HEARTLINE__LIMITS__FRAMES_PER_SECOND", "1000000")
            .env("HEARTLINE__LIMITS__BURST", "1000000")
            .env("HEARTLINE__LOG__LEVEL", "warn");
        let mut process = command.arg("serve").stdout(Stdio::piped()).spawn().expect("a gateway");
        let mut lines = BufReader::new(process.stdout.take().expect("its output")).lines().map_while(Result::ok);
        let ready = lines.find(|line| line.starts_with("heartline is listening on ")).expect("it serves");
        let address = ready.split_whitespace().find_map(|word| word.strip_prefix("http://")).expect("an address");
        Gateway { process, address: address.to_owned(), _dir: dir }
    }

    pub fn pid(&self) -> String {
        self.process.id().to_string()
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn token(user: u64) -> String {
    let claims = json!({ "sub": user.to_string(), "exp": EXPIRES });
    encode(&Header::default(), &claims, &EncodingKey::from_secret(KEY.as_bytes())).expect("a token")
}
