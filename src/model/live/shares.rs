//! How many sessions each class of clients has.

use std::collections::BTreeMap;

use crate::visitor::{Browser, Country, DeviceClass, Os, Visitor};

/// The number of sessions of each class. An unknown class is counted nowhere. Bounded: devices, systems and browsers
/// are fixed lists, and a country is two letters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    pub countries: Tally<Country>,
    pub os: Tally<Os>,
    pub browsers: Tally<Browser>,
    pub devices: Tally<DeviceClass>,
}

/// The sessions of each class that has some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally<Class>(BTreeMap<Class, u32>);

impl Shares {
    pub fn join(&mut self, visitor: Visitor) {
        let Visitor { device, os, browser, country } = visitor;
        self.countries.join(country);
        self.os.join(os);
        self.browsers.join(browser);
        self.devices.join(device);
    }

    pub fn leave(&mut self, visitor: Visitor) {
        let Visitor { device, os, browser, country } = visitor;
        self.countries.leave(country);
        self.os.leave(os);
        self.browsers.leave(browser);
        self.devices.leave(device);
    }
}

impl<Class: Ord> Tally<Class> {
    /// In the order of the classes.
    pub fn iter(&self) -> impl Iterator<Item = (&Class, u32)> {
        self.0.iter().map(|(class, sessions)| (class, *sessions))
    }

    fn join(&mut self, class: Option<Class>) {
        if let Some(class) = class {
            *self.0.entry(class).or_default() += 1;
        }
    }

    fn leave(&mut self, class: Option<Class>) {
        let Some(class) = class else { return };
        let sessions = self.0.get_mut(&class).expect("a session of the class");
        *sessions -= 1;
        if *sessions == 0 {
            self.0.remove(&class);
        }
    }
}

impl<Class> Default for Tally<Class> {
    fn default() -> Self {
        Tally(BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_counted_while_it_has_sessions_and_unknown_classes_never() {
        let german = Visitor { device: Some(DeviceClass::Tv), country: Country::of("DE"), ..Visitor::default() };
        let mut shares = Shares::default();
        shares.join(german);
        shares.join(german);
        shares.join(Visitor { country: Country::of("FR"), ..Visitor::default() });
        shares.join(Visitor::default());
        let countries: Vec<_> =
            shares.countries.iter().map(|(country, sessions)| (country.as_str(), sessions)).collect();
        assert_eq!(countries, [("DE", 2), ("FR", 1)]);
        assert_eq!(shares.devices.iter().collect::<Vec<_>>(), [(&DeviceClass::Tv, 2)]);
        assert_eq!((shares.os.iter().count(), shares.browsers.iter().count()), (0, 0));
        shares.leave(german);
        shares.leave(german);
        shares.leave(Visitor::default());
        assert_eq!((shares.countries.iter().count(), shares.devices.iter().count()), (1, 0));
    }
}
