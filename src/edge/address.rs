//! The address of a client, as far as the gateway knows it.

use std::net::{IpAddr, Ipv6Addr};

/// The unit of limits per address: an IPv4 address, or the /64 of an IPv6 address, since one household or machine gets
/// a whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Network(IpAddr);

impl Network {
    pub fn of(address: IpAddr) -> Self {
        Network(match address.to_canonical() {
            IpAddr::V4(address) => IpAddr::V4(address),
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        })
    }
}

/// The client of a request, as far as proxies name it: an extension of requests on the public listener.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientAddress(pub IpAddr);

#[cfg(test)]
mod tests {
    use super::*;

    fn network(address: &str) -> Network {
        Network::of(address.parse().expect("an address"))
    }

    #[test]
    fn ipv6_counts_by_64_and_ipv4_by_address_however_it_is_written() {
        assert_eq!(network("2001:db8:1:2::1"), network("2001:db8:1:2:ffff:ffff:ffff:ffff"));
        assert_ne!(network("2001:db8:1:2::1"), network("2001:db8:1:3::1"));
        assert_eq!(network("::ffff:192.0.2.1"), network("192.0.2.1"));
        assert_ne!(network("192.0.2.1"), network("192.0.2.2"));
    }
}
