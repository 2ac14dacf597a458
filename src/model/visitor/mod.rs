//! The class of a client: its kind of device, its software and its country.
//!
//! It is kept in place of the address and the user agent it was derived from, and takes 8 bytes.

mod country;
mod names;

pub use country::Country;
pub use names::{Browser, Os};

/// The class of the client of a connection or a request, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Visitor {
    pub device: Option<DeviceClass>,
    pub os: Option<Os>,
    pub browser: Option<Browser>,
    pub country: Option<Country>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeviceClass {
    Tv,
    Phone,
    Tablet,
    Desktop,
}

impl DeviceClass {
    pub const ALL: [Self; 4] = [Self::Tv, Self::Phone, Self::Tablet, Self::Desktop];

    /// The word of the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            DeviceClass::Tv => "tv",
            DeviceClass::Phone => "phone",
            DeviceClass::Tablet => "tablet",
            DeviceClass::Desktop => "desktop",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_visitor_takes_at_most_8_bytes() {
        assert!(size_of::<Visitor>() <= 8, "{} bytes", size_of::<Visitor>());
    }
}
