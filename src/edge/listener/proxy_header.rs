//! The PROXY protocol, versions 1 and 2: the client address of a connection that a proxy passes on.

use std::io;
use std::net::IpAddr;

use ppp::{HeaderResult, v1, v2};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// A line of version 1, its end included, is no longer than this.
const LINE_BYTES_MAX: usize = 107;
/// Addresses take 36 bytes at most; proxies add what they know of TLS or of their network.
const ADDITIONS_BYTES_MAX: usize = 4096;
/// The length of the signature that version 2 begins with. The shortest line of version 1 is longer (15 bytes), so as
/// much can be read of either.
const SIGNATURE_BYTES: usize = v2::PROTOCOL_PREFIX.len();
/// The signature, version and command, family, length of the rest.
const FIXED_BYTES: usize = SIGNATURE_BYTES + 4;

/// Reads the header and nothing beyond it; `None` for a connection of the proxy itself, such as a health check, or if
/// the proxy does not know the client.
pub async fn read(stream: &mut TcpStream) -> io::Result<Option<IpAddr>> {
    let mut header = vec![0; SIGNATURE_BYTES];
    stream.read_exact(&mut header).await?;
    if header == v2::PROTOCOL_PREFIX {
        read_to_length(stream, &mut header).await?;
    } else {
        read_to_line_end(stream, &mut header).await?;
    }
    client(&header)
}

async fn read_to_length(stream: &mut TcpStream, header: &mut Vec<u8>) -> io::Result<()> {
    let mut rest = [0; FIXED_BYTES - SIGNATURE_BYTES];
    stream.read_exact(&mut rest).await?;
    header.extend(rest);
    let length = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
    if length > ADDITIONS_BYTES_MAX {
        return Err(malformed("PROXY header too long"));
    }
    header.resize(FIXED_BYTES + length, 0);
    stream.read_exact(&mut header[FIXED_BYTES..]).await?;
    Ok(())
}

/// Bytes after the line are not part of the header, so bytes are peeked at before they are taken.
async fn read_to_line_end(stream: &mut TcpStream, header: &mut Vec<u8>) -> io::Result<()> {
    let mut ahead = [0; LINE_BYTES_MAX];
    while header.last() != Some(&b'\n') {
        let room = LINE_BYTES_MAX.saturating_sub(header.len());
        let seen = stream.peek(&mut ahead[..room]).await?;
        if seen == 0 {
            return Err(malformed("no PROXY header"));
        }
        let end = ahead[..seen].iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(seen, |end| end + 1);
        stream.read_exact(&mut ahead[..taken]).await?;
        header.extend(&ahead[..taken]);
    }
    Ok(())
}

fn client(header: &[u8]) -> io::Result<Option<IpAddr>> {
    let address = match HeaderResult::parse(header) {
        HeaderResult::V1(Ok(header)) => match header.addresses {
            v1::Addresses::Tcp4(addresses) => Some(addresses.source_address.into()),
            v1::Addresses::Tcp6(addresses) => Some(addresses.source_address.into()),
            v1::Addresses::Unknown => None,
        },
        HeaderResult::V2(Ok(header)) => match (header.command, header.addresses) {
            (v2::Command::Local, _) => None,
            (v2::Command::Proxy, v2::Addresses::IPv4(addresses)) => Some(addresses.source_address.into()),
            (v2::Command::Proxy, v2::Addresses::IPv6(addresses)) => Some(addresses.source_address.into()),
            (v2::Command::Proxy, v2::Addresses::Unspecified | v2::Addresses::Unix(_)) => None,
        },
        HeaderResult::V1(Err(_)) | HeaderResult::V2(Err(_)) => return Err(malformed("unreadable PROXY header")),
    };
    Ok(address.map(|address: IpAddr| address.to_canonical()))
}

fn malformed(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;
    use tokio::net::TcpListener;

    use super::*;

    const AFTER: &[u8] = b"GET / HTTP/1.1\r\n";

    /// Sends `header` in two pieces; returns the address read, and the bytes left in the stream.
    async fn sent(header: &[u8], cut: usize) -> (io::Result<Option<IpAddr>>, Vec<u8>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
        let mut proxy = TcpStream::connect(listener.local_addr().expect("its address")).await.expect("a connection");
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let cut = cut.min(header.len());
        let bytes = [&header[cut..], AFTER].concat();
        let write = async {
            proxy.set_nodelay(true).expect("nodelay");
            proxy.write_all(&header[..cut]).await.expect("room");
            tokio::task::yield_now().await;
            proxy.write_all(&bytes).await.expect("room");
            proxy.shutdown().await.expect("an end");
        };
        let (read, ()) = tokio::join!(read(&mut stream), write);
        let mut left = Vec::new();
        stream.read_to_end(&mut left).await.expect("the rest");
        (read, left)
    }

    fn version_2(command: u8, family: u8, addresses: &[u8], additions: &[u8]) -> Vec<u8> {
        let length = (addresses.len() + additions.len()) as u16;
        [v2::PROTOCOL_PREFIX, &[0x20 | command, family], &length.to_be_bytes(), addresses, additions].concat()
    }

    const IPV4: [u8; 12] = [192, 0, 2, 1, 10, 0, 0, 1, 0x12, 0x34, 0, 80];

    #[tokio::test]
    async fn both_versions_name_the_client_and_leave_the_rest_alone() {
        let mut ipv6 = [0; 36];
        ipv6[..2].copy_from_slice(&[0x20, 0x01]);
        ipv6[15] = 7;
        for (header, expected) in [
            (b"PROXY TCP4 192.0.2.1 10.0.0.1 4711 80\r\n".to_vec(), Some("192.0.2.1")),
            (b"PROXY TCP6 2001::7 2001::1 4711 80\r\n".to_vec(), Some("2001::7")),
            (b"PROXY UNKNOWN\r\n".to_vec(), None),
            (b"PROXY UNKNOWN whatever it is\r\n".to_vec(), None),
            (version_2(1, 0x11, &IPV4, &[]), Some("192.0.2.1")),
            (version_2(1, 0x11, &IPV4, &[4, 0, 1, 0]), Some("192.0.2.1")),
            (version_2(1, 0x21, &ipv6, &[]), Some("2001::7")),
            (version_2(0, 0x00, &[], &[]), None),
            (version_2(0, 0x11, &IPV4, &[]), None),
            (version_2(1, 0x00, &[], &[]), None),
        ] {
            for cut in [0, 1, 12, 13, 15, 16, 20] {
                let (client, left) = sent(&header, cut).await;
                let client = client.expect("a header").map(|address| address.to_string());
                assert_eq!((client.as_deref(), left.as_slice()), (expected, AFTER), "{header:?} cut at {cut}");
            }
        }
    }

    #[tokio::test]
    async fn malformed_proxy_headers_are_refused() {
        let long = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 200], b"\r\n"].concat();
        let mut wrong_version = version_2(1, 0x11, &IPV4, &[]);
        wrong_version[12] = 0x31;
        for header in [
            &b"GET / HTTP/1.1\r\nHost: here\r\n\r\n"[..],
            b"PROXY TCP4 192.0.2.1\r\n",
            b"PROXY TCP4 192.0.2.300 10.0.0.1 4711 80\r\n",
            b"PROXY TCP4 2001::7 2001::1 4711 80\r\n",
            b"",
            &long,
            &wrong_version,
            &version_2(1, 0x11, &IPV4[..4], &[]),
            &version_2(1, 0x11, &IPV4, &[0; ADDITIONS_BYTES_MAX]),
            &v2::PROTOCOL_PREFIX[..8],
        ] {
            assert!(sent(header, 0).await.0.is_err(), "{header:?}");
        }
    }
}
