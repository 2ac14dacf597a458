//! `live.geoip`: the file that says in which country an address is.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::support::{TestGateway, country_file};

const BAD_CONFIGURATION: i32 = 78;

/// A country file that can be changed. Clients of a test come from 127.0.0.1.
pub struct CountryFile {
    dir: TempDir,
}

impl CountryFile {
    pub fn of(country: &str) -> Self {
        let file = CountryFile { dir: tempfile::tempdir().expect("a directory") };
        file.write(&country_file(&[("127.0.0.0/8", country)]));
        file
    }

    pub fn write(&self, bytes: &[u8]) {
        fs::write(self.dir.path().join("countries.mmdb"), bytes).expect("a file");
    }

    pub fn path(&self) -> String {
        Path::new(self.dir.path()).join("countries.mmdb").to_str().expect("ASCII").to_owned()
    }
}

#[test]
fn an_unusable_file_ends_the_start_with_a_reason() {
    let missing = TestGateway::fails_with(&[("live.geoip", "/nonexistent/countries.mmdb")]);
    assert_eq!(missing.code, Some(BAD_CONFIGURATION), "{missing:?}");
    let says = "live.geoip = \"/nonexistent/countries.mmdb\" cannot be read: No such file";
    assert!(missing.stderr.contains(says), "{missing:?}");
    let file = CountryFile::of("DE");
    file.write(b"no country file");
    let broken = TestGateway::fails_with(&[("live.geoip", &file.path())]);
    assert_eq!(broken.code, Some(BAD_CONFIGURATION), "{broken:?}");
    assert!(broken.stderr.contains("no usable file in the MaxMind DB format"), "{broken:?}");
}

#[tokio::test]
async fn a_hangup_reloads_it_and_a_file_that_is_unusable_then_changes_nothing() {
    let file = CountryFile::of("DE");
    let gateway = TestGateway::with(&[("live.geoip", &file.path())]);
    file.write(&country_file(&[("127.0.0.0/8", "FR")]));
    gateway.hang_up();
    gateway.wait_for_log("country file reloaded").await;
    file.write(b"no country file");
    gateway.hang_up();
    gateway.wait_for_log("cannot reload the country file; keeping the current one").await;
    gateway.shows_a_failed_reload_of("country_file").await;
    file.write(&country_file(&[("127.0.0.0/8", "FR")]));
    gateway.hang_up();
    gateway.shows_no_failed_reload_of("country_file").await;
}

#[tokio::test]
async fn a_country_file_that_has_changed_is_read_without_a_signal() {
    let file = CountryFile::of("DE");
    let gateway = TestGateway::with(&[("live.geoip", &file.path()), ("server.watch_files", "1s")]);
    file.write(&country_file(&[("127.0.0.0/8", "FR")]));
    gateway.wait_for_log("country_file_reloaded").await;
    file.write(b"no country file");
    gateway.shows_a_failed_reload_of("country_file").await;
    file.write(&country_file(&[("127.0.0.0/8", "IT")]));
    gateway.shows_no_failed_reload_of("country_file").await;
}
