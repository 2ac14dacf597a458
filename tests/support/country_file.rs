//! Writes small files in the MaxMind DB format, version 2.0: a binary tree of networks with records of 24 bits, the
//! data that its leaves point to, and the metadata.

use std::net::IpAddr;

const BITS: u32 = 128;
const MARKER: &[u8] = b"\xab\xcd\xefMaxMind.com";
/// Between the tree and the data.
const SEPARATOR: [u8; 16] = [0; 16];

#[derive(Clone, Copy)]
enum Branch {
    Empty,
    Node(usize),
    /// Where it is in the data.
    Leaf(usize),
}

/// Each network with its country, as in `("192.0.2.0/24", "DE")`.
pub fn country_file(networks: &[(&str, &str)]) -> Vec<u8> {
    let (mut nodes, mut data) = (vec![[Branch::Empty; 2]], Vec::new());
    for (network, code) in networks {
        insert(&mut nodes, network, data.len());
        data.extend([map(1), text("country"), map(1), text("iso_code"), text(code)].concat());
    }
    let mut file = Vec::new();
    for branch in nodes.iter().flatten() {
        let record = match branch {
            Branch::Empty => nodes.len(),
            Branch::Node(place) => *place,
            Branch::Leaf(place) => nodes.len() + SEPARATOR.len() + place,
        };
        file.extend_from_slice(&(record as u32).to_be_bytes()[1..]);
    }
    file.extend(SEPARATOR);
    file.extend(data);
    file.extend_from_slice(MARKER);
    file.extend(metadata(nodes.len()));
    file
}

/// IPv4 networks are in `::/96`.
fn insert(nodes: &mut Vec<[Branch; 2]>, network: &str, leaf: usize) {
    let (address, length) = network.split_once('/').expect("a prefix");
    let length: u32 = length.parse().expect("a length");
    let (bits, length) = match address.parse().expect("an address") {
        IpAddr::V4(address) => (u128::from(address.to_bits()), length + 96),
        IpAddr::V6(address) => (address.to_bits(), length),
    };
    let mut node = 0;
    for depth in 0..length {
        let side = (bits >> (BITS - 1 - depth) & 1) as usize;
        if depth + 1 == length {
            nodes[node][side] = Branch::Leaf(leaf);
            return;
        }
        node = match nodes[node][side] {
            Branch::Node(next) => next,
            _ => {
                nodes.push([Branch::Empty; 2]);
                nodes[node][side] = Branch::Node(nodes.len() - 1);
                nodes.len() - 1
            }
        };
    }
}

fn metadata(nodes: usize) -> Vec<u8> {
    [
        map(9),
        [text("node_count"), number(6, nodes)].concat(),
        [text("record_size"), number(5, 24)].concat(),
        [text("ip_version"), number(5, 6)].concat(),
        [text("database_type"), text("Test-Country")].concat(),
        // An empty array: its type is beyond the seven of one byte.
        [text("languages"), vec![0, 4]].concat(),
        [text("binary_format_major_version"), number(5, 2)].concat(),
        [text("binary_format_minor_version"), number(5, 0)].concat(),
        // An extended type, too.
        [text("build_epoch"), vec![4, 2], 1_700_000_000_u32.to_be_bytes().to_vec()].concat(),
        [text("description"), map(0)].concat(),
    ]
    .concat()
}

fn map(entries: u8) -> Vec<u8> {
    vec![7 << 5 | entries]
}

/// Up to 28 bytes: their number is in the first byte.
fn text(text: &str) -> Vec<u8> {
    [&[2 << 5 | text.len() as u8], text.as_bytes()].concat()
}

/// Of the type 5 (16 bits) or 6 (32 bits), in two bytes.
fn number(of_type: u8, number: usize) -> Vec<u8> {
    [&[of_type << 5 | 2], &(number as u16).to_be_bytes()[..]].concat()
}
