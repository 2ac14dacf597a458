//! How many sessions each class of clients has, as it is answered.

use std::collections::BTreeMap;

use serde::Serialize;

use super::encode::text_of;
use model::live::{Shares, Tally};
use model::visitor::{Browser, Country, DeviceClass, Os};

/// The number of sessions of each class that has any, by its name.
#[derive(Serialize)]
pub(super) struct SharesView<'a> {
    countries: BTreeMap<&'a str, u32>,
    os: BTreeMap<&'a str, u32>,
    browsers: BTreeMap<&'a str, u32>,
    devices: BTreeMap<&'a str, u32>,
}

/// To `GET /v1/live/shares`.
pub fn encode_shares(all: &Shares) -> String {
    text_of(&shares(all))
}

pub(super) fn shares(Shares { countries, os, browsers, devices }: &Shares) -> SharesView<'_> {
    SharesView {
        countries: named(countries, Country::as_str),
        os: named(os, |os: &Os| os.as_str()),
        browsers: named(browsers, |browser: &Browser| browser.as_str()),
        devices: named(devices, |device: &DeviceClass| device.as_str()),
    }
}

fn named<Class: Ord>(tally: &Tally<Class>, name: impl Fn(&Class) -> &str) -> BTreeMap<&str, u32> {
    tally.iter().map(|(class, sessions)| (name(class), sessions)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::visitor::Visitor;

    #[test]
    fn shares_are_encoded_by_class() {
        let mut all = Shares::default();
        let (os, browser) = (Os::of("Android"), Browser::of("Chrome"));
        let visitor = Visitor { device: Some(DeviceClass::Tv), os, browser, country: Country::of("DE") };
        all.join(visitor);
        all.join(Visitor { country: Country::of("FR"), ..visitor });
        let expected = r#"{"countries":{"DE":1,"FR":1},"os":{"Android":2},"browsers":{"Chrome":2},"devices":{"tv":2}}"#;
        assert_eq!(encode_shares(&all), expected);
    }
}
