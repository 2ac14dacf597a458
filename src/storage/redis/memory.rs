//! How much memory a server uses.

use std::collections::HashMap;

/// In bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub used: u64,
    /// At which it refuses writes. Without `maxmemory`, all that the machine has.
    pub max: u64,
}

impl Memory {
    /// From the lines of `INFO default`.
    pub fn read(info: &HashMap<String, String>) -> Option<Self> {
        let number = |name: &str| -> Option<u64> { info.get(name)?.parse().ok() };
        let max = number("maxmemory").filter(|max| *max > 0).or_else(|| number("total_system_memory"))?;
        Some(Memory { used: number("used_memory")?, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(lines: &[(&str, &str)]) -> Option<(u64, u64)> {
        let info = lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Memory::read(&info).map(|memory| (memory.used, memory.max))
    }

    #[test]
    fn without_a_limit_of_its_own_a_server_has_the_memory_of_the_machine() {
        let (used, machine) = (("used_memory", "700"), ("total_system_memory", "9000"));
        assert_eq!(read(&[used, machine, ("maxmemory", "1000")]), Some((700, 1_000)));
        assert_eq!(read(&[used, machine, ("maxmemory", "0")]), Some((700, 9_000)));
        for unknown in [&[used, ("maxmemory", "0")][..], &[machine, ("maxmemory", "1000")], &[]] {
            assert_eq!(read(unknown), None, "{unknown:?}");
        }
    }
}
