//! The country of an address, by a file in the MaxMind DB format.

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maxminddb::{LookupResult, MaxMindDbError, PathElement, Reader, WithinOptions};
use parking_lot::RwLock;

use model::visitor::Country;

/// The file is kept in memory. Those of all cities of the world have about 120 MiB.
const FILE_BYTES: u64 = 512 * 1024 * 1024;
/// Networks that are looked at to find out whether the file has countries at all.
const TRIED: usize = 1_024;
const CODE: &[PathElement<'static>] = &[PathElement::Key("country"), PathElement::Key("iso_code")];

/// A country file that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CountryFileError {
    #[error("live.geoip = {path:?} cannot be read: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("live.geoip = {path:?} has more than {} MiB", FILE_BYTES >> 20)]
    Size { path: PathBuf },
    #[error("live.geoip = {path:?} is no usable file in the MaxMind DB format: {source}")]
    Format { path: PathBuf, source: MaxMindDbError },
    #[error("live.geoip = {path:?} contains no countries; set a country or city database in the MaxMind DB format")]
    NoCountries { path: PathBuf },
}

type Database = Reader<Vec<u8>>;

/// Shared by all threads.
pub(super) struct Countries {
    path: PathBuf,
    /// Locked once per connection.
    current: RwLock<Arc<Database>>,
}

impl Countries {
    pub fn open(path: &Path) -> Result<Self, CountryFileError> {
        Ok(Countries { path: path.to_owned(), current: RwLock::new(Arc::new(read(path)?)) })
    }

    /// Reads the file again; if it cannot be used, what was read before stays.
    pub fn reload(&self) -> Result<(), CountryFileError> {
        let next = Arc::new(read(&self.path)?);
        *self.current.write() = next;
        Ok(())
    }

    /// `None`: unknown.
    pub fn of(&self, address: IpAddr) -> Option<Country> {
        let current = self.current.read().clone();
        code(&current.lookup(address.to_canonical()).ok()?)
    }
}

fn code(found: &LookupResult<'_, Vec<u8>>) -> Option<Country> {
    found.decode_path::<&str>(CODE).ok()?.and_then(Country::of)
}

fn read(path: &Path) -> Result<Database, CountryFileError> {
    let path = || path.to_owned();
    let unreadable = |source| CountryFileError::Read { path: path(), source };
    let mut bytes = Vec::new();
    File::open(path()).and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes)).map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(CountryFileError::Size { path: path() });
    }
    let malformed = |source| CountryFileError::Format { path: path(), source };
    let database = Reader::from_source(bytes).map_err(malformed)?;
    let mut has_countries = false;
    for found in database.networks(WithinOptions::default()).map_err(malformed)?.take(TRIED) {
        has_countries |= code(&found.map_err(malformed)?).is_some();
    }
    has_countries.then_some(database).ok_or_else(|| CountryFileError::NoCountries { path: path() })
}

#[cfg(test)]
mod tests {
    use tempfile::NamedTempFile;

    use super::super::country_file::country_file;
    use super::*;

    fn kept(bytes: &[u8]) -> NamedTempFile {
        let file = NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), bytes).expect("written");
        file
    }

    fn without_countries() -> Vec<u8> {
        let mut file = country_file(&[("192.0.2.0/24", "DE")]);
        let start = file.windows(7).position(|bytes| bytes == b"country").expect("a country");
        file[start..start + 7].copy_from_slice(b"village");
        file
    }

    fn country(countries: &Countries, address: &str) -> Option<String> {
        countries.of(address.parse().expect("an address")).map(|country| country.as_str().to_owned())
    }

    #[test]
    fn an_address_has_the_country_of_its_network() {
        let networks =
            [("192.0.2.0/24", "DE"), ("198.51.100.128/25", "BR"), ("2001:db8::/32", "JP"), ("203.0.113.7/32", "??")];
        let file = kept(&country_file(&networks));
        let countries = Countries::open(file.path()).expect("a usable file");
        for (address, code) in [
            ("192.0.2.1", Some("DE")),
            ("192.0.2.255", Some("DE")),
            ("192.0.3.1", None),
            ("198.51.100.127", None),
            ("198.51.100.128", Some("BR")),
            ("2001:db8:1::1", Some("JP")),
            ("2001:db9::1", None),
            ("::ffff:192.0.2.1", Some("DE")),
            // Not the form of a code.
            ("203.0.113.7", None),
        ] {
            assert_eq!(country(&countries, address).as_deref(), code, "{address}");
        }
    }

    #[test]
    fn a_reload_takes_effect_or_changes_nothing() {
        let file = kept(&country_file(&[("192.0.2.0/24", "DE")]));
        let countries = Countries::open(file.path()).expect("a usable file");
        for wrong in [&b""[..], b"garbage", &without_countries()] {
            std::fs::write(file.path(), wrong).expect("written");
            countries.reload().expect_err("an unusable file");
            assert_eq!(country(&countries, "192.0.2.1").as_deref(), Some("DE"));
        }
        std::fs::write(file.path(), country_file(&[("192.0.2.0/24", "FR")])).expect("written");
        countries.reload().expect("a usable file");
        assert_eq!(country(&countries, "192.0.2.1").as_deref(), Some("FR"));
    }

    #[test]
    fn an_unusable_country_file_is_refused_with_the_reason() {
        let whole = country_file(&[("192.0.2.0/24", "DE")]);
        let said = |path: &Path| match Countries::open(path) {
            Ok(_) => panic!("{path:?} is used"),
            Err(error) => error.to_string(),
        };
        let missing = said(Path::new("/nowhere/countries.mmdb"));
        let expected = "live.geoip = \"/nowhere/countries.mmdb\" cannot be read: No such file";
        assert!(missing.starts_with(expected), "{missing}");
        assert!(said(Path::new("/")).contains("cannot be read: "));
        assert!(said(kept(&whole[..whole.len() / 2]).path()).contains("MaxMind DB format"));
        assert!(said(kept(&without_countries()).path()).contains("contains no countries"));
    }
}
