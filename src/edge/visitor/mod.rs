//! Determines the [`Visitor`] of a connection from the user agent and the address of its client, once, at the upgrade.
//!
//! A connection keeps only this class. No address stays here, and user agents stay only in a cache that all clients
//! share.

mod agents;
mod countries;
#[cfg(test)]
#[path = "../../../tests/support/country_file.rs"]
mod country_file;
mod device;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use http::{HeaderMap, header};

use agents::Agents;
use countries::Countries;

pub use countries::CountryFileError;

use model::visitor::Visitor;

/// Whether [`VisitorClasses::open`] could use this file.
pub fn check_country_file(path: &Path) -> Result<(), CountryFileError> {
    Countries::open(path).map(drop)
}

/// Shared by all threads.
pub struct VisitorClasses {
    agents: Agents,
    /// `None`: countries are not determined.
    countries: Option<Countries>,
}

impl VisitorClasses {
    /// Takes a while: to be called before the first connection. `geoip`: a database of countries in the MaxMind DB
    /// format.
    pub fn open(geoip: Option<&Path>) -> Result<Arc<Self>, CountryFileError> {
        let countries = geoip.map(Countries::open).transpose()?;
        Ok(Arc::new(VisitorClasses { agents: Agents::new(), countries }))
    }

    /// Reads the country file again. If it cannot be used, the countries stay as they were. `None`: there is no file.
    pub fn reload(&self) -> Option<Result<(), CountryFileError>> {
        self.countries.as_ref().map(Countries::reload)
    }

    pub fn classify(&self, user_agent: Option<&str>, address: IpAddr) -> Visitor {
        let agent = user_agent.map(|text| self.agents.class(text)).unwrap_or_default();
        let country = self.countries.as_ref().and_then(|countries| countries.of(address));
        Visitor { device: agent.device, os: agent.os, browser: agent.browser, country }
    }

    /// The same by the headers of a request.
    pub fn of_request(&self, headers: &HeaderMap, address: IpAddr) -> Visitor {
        let user_agent = headers.get(header::USER_AGENT).and_then(|text| std::str::from_utf8(text.as_bytes()).ok());
        self.classify(user_agent, address)
    }
}

#[cfg(test)]
mod tests {
    use super::country_file::country_file;
    use super::*;
    use model::visitor::{Browser, Country, DeviceClass, Os};

    const BRAVIA: &str = "Mozilla/5.0 (Linux; Android 9; BRAVIA 4K GB ATV3 Build/PTT1.190515.001.S52; wv) \
        AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/112.0.5615.48 Mobile Safari/537.36";

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn without_a_file_there_are_no_countries() {
        let classes = VisitorClasses::open(None).expect("no file is read");
        let visitor = classes.classify(Some(BRAVIA), address("192.0.2.1"));
        let expected = Visitor {
            device: Some(DeviceClass::Tv),
            os: Os::of("Android"),
            browser: Browser::of("Chrome Mobile WebView"),
            country: None,
        };
        assert_eq!(visitor, expected);
        assert!(classes.reload().is_none());
    }

    #[test]
    fn a_client_without_a_user_agent_still_has_a_country() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), country_file(&[("192.0.2.0/24", "DE")])).expect("written");
        let classes = VisitorClasses::open(Some(file.path())).expect("a usable file");
        let known = Visitor { country: Country::of("DE"), ..Visitor::default() };
        assert_eq!(classes.classify(None, address("192.0.2.1")), known);
        assert_eq!(classes.of_request(&HeaderMap::new(), address("192.0.2.1")), known);
    }

    #[test]
    fn a_user_agent_that_is_not_text_counts_as_none() {
        let classes = VisitorClasses::open(None).expect("no file is read");
        let value = http::HeaderValue::from_bytes(b"Mozilla/5.0 \xff").expect("a header");
        let headers = HeaderMap::from_iter([(header::USER_AGENT, value)]);
        assert_eq!(classes.of_request(&headers, address("192.0.2.1")), Visitor::default());
    }
}
