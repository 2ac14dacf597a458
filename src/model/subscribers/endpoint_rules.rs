//! To which addresses deliveries may go.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::endpoint_url::{EndpointHost, EndpointUrl, NoEndpointUrl};

/// Public addresses over TLS, and what the settings allow beside them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndpointRules {
    pub allow_http: bool,
    /// Addresses that are not public, and allowed nevertheless.
    pub allow_networks: Vec<IpNet>,
}

impl EndpointRules {
    /// # Errors
    /// It is no URL of an endpoint, it is not allowed, or it names an address that is not.
    pub fn endpoint(&self, text: &str) -> Result<EndpointUrl, NoEndpointUrl> {
        let url: EndpointUrl = text.parse()?;
        if !url.is_https() && !self.allow_http {
            return Err(NoEndpointUrl::Http);
        }
        match url.host() {
            EndpointHost::Address(address) if !self.allows(address) => Err(NoEndpointUrl::RefusedAddress),
            _ => Ok(url),
        }
    }

    /// Whether a connection to it may be made. An IPv4 address inside an IPv6 address counts as itself.
    pub fn allows(&self, address: IpAddr) -> bool {
        let address = inner(address);
        let is_public = match address {
            IpAddr::V4(address) => is_public_v4(address),
            IpAddr::V6(address) => is_public_v6(address),
        };
        is_public || self.allow_networks.iter().any(|network| network.contains(&address))
    }
}

/// The IPv4 address that an IPv6 address leads to: mapped (`::ffff:0:0/96`), compatible (`::/96`), translated
/// (`64:ff9b::/96`, RFC 6052), 6to4 (`2002::/16`).
fn inner(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    let segments = v6.segments();
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    };
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] => v4(high, low),
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        [0, 0, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => v4(high, low),
        [0x2002, high, low, ..] => v4(high, low),
        _ => address,
    }
}

/// Public by their number, but answered by the cloud in which the machine runs, with what may be secrets: Azure's
/// WireServer. Those of other clouds are of a special purpose: 169.254.169.254, 100.100.100.200, 192.0.0.192,
/// fd00:ec2::254.
const CLOUD_SERVICES: [Ipv4Addr; 1] = [Ipv4Addr::new(168, 63, 129, 16)];

/// Not of a special purpose: <https://www.iana.org/assignments/iana-ipv4-special-registry>.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    !matches!(
        (a, b, c),
        (0 | 10 | 127, ..)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (192, 168, _)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
            | (224..=255, ..)
    ) && !CLOUD_SERVICES.contains(&address)
}

/// Whether an address is in 2000::/3 and not of a special purpose:
/// <https://www.iana.org/assignments/iana-ipv6-special-registry>.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // IETF protocols, with Teredo, benchmarks and ORCHID; documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(networks: &[&str]) -> EndpointRules {
        let allow_networks = networks.iter().map(|network| network.parse().expect("a network")).collect();
        EndpointRules { allow_http: false, allow_networks }
    }

    fn allows(rules: &EndpointRules, address: &str) -> bool {
        rules.allows(address.parse().expect("an address"))
    }

    #[test]
    fn public_addresses_are_allowed() {
        for address in [
            "1.1.1.1",
            "8.8.8.8",
            "172.15.0.1",
            "172.32.0.1",
            "100.63.0.1",
            "168.63.129.17",
            "192.0.1.1",
            "223.255.255.255",
        ] {
            assert!(allows(&rules(&[]), address), "{address}");
        }
        for address in
            ["2606:4700::1111", "2a00:1450:4001::200e", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]
        {
            assert!(allows(&rules(&[]), address), "{address}");
        }
    }

    #[test]
    fn special_addresses_are_refused() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.255",
            "100.100.100.200",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.1",
            "192.0.0.192",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
        ] {
            assert!(!allows(&rules(&[]), address), "{address}");
        }
        for address in [
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "::ffff:168.63.129.16",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:10::1",
            "2001:db8::1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "3fff::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!allows(&rules(&[]), address), "{address}");
        }
    }

    #[test]
    fn a_network_of_the_settings_is_allowed_in_every_form_of_its_addresses() {
        let rules = rules(&["127.0.0.1/32", "fd00::/8"]);
        for address in ["127.0.0.1", "::ffff:127.0.0.1", "64:ff9b::127.0.0.1", "fd00::1"] {
            assert!(allows(&rules, address), "{address}");
        }
        for address in ["127.0.0.2", "::ffff:127.0.0.2", "fc00::1", "::1"] {
            assert!(!allows(&rules, address), "{address}");
        }
    }

    #[test]
    fn a_literal_address_is_judged_with_the_url() {
        let endpoint = |text| rules(&["127.0.0.1/32"]).endpoint(text).map(|url| url.port());
        assert_eq!(endpoint("https://2130706433:8443/"), Ok(8443));
        for text in ["https://2130706434/", "https://0x7f000002/", "https://[::ffff:127.0.0.2]/", "https://10.0.0.1/"] {
            assert_eq!(endpoint(text), Err(NoEndpointUrl::RefusedAddress), "{text}");
        }
        assert_eq!(endpoint("http://example.com/"), Err(NoEndpointUrl::Http));
        assert_eq!(endpoint("https://localhost/"), Ok(443), "a name is judged when it is looked up");
    }

    proptest! {
        #[test]
        fn an_address_is_judged_alike_in_every_form(bits in any::<u32>()) {
            let address = Ipv4Addr::from_bits(bits);
            let [a, b, c, d] = address.octets().map(u16::from);
            let (high, low) = (a << 8 | b, c << 8 | d);
            let rules = EndpointRules::default();
            let plain = rules.allows(address.into());
            prop_assert_eq!(rules.allows(address.to_ipv6_mapped().into()), plain);
            prop_assert_eq!(rules.allows(Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low).into()), plain);
            prop_assert_eq!(rules.allows(Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1).into()), plain);
        }
    }
}
