//! Measurements of processes, from the kernel.

use std::fs;
use std::str::FromStr;

/// The kernel gives times to user space in hundredths of a second.
const TICKS_PER_SECOND: f64 = 100.0;
/// The kernel gives the memory of sockets in pages.
const PAGE_BYTES: u64 = 4096;

/// A process to measure, and its name in the report.
#[derive(Clone, Debug, PartialEq)]
pub struct Watched {
    pub name: String,
    pub pid: u32,
}

impl FromStr for Watched {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, pid) = text.split_once('=').unwrap_or(("server", text));
        let pid = pid.parse().map_err(|_| format!("{text} is not NAME=PID"))?;
        Ok(Watched { name: name.to_owned(), pid })
    }
}

/// User and system time of all threads, including threads that have ended, seconds.
pub fn cpu_seconds(pid: u32) -> Option<f64> {
    ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?).map(|ticks| ticks as f64 / TICKS_PER_SECOND)
}

/// The program's name, in the middle, may have any characters; utime and stime are the 14th and 15th fields.
fn ticks(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

/// The resident memory, bytes.
pub fn rss(pid: u32) -> Option<u64> {
    resident(&fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

fn resident(status: &str) -> Option<u64> {
    let kilobytes = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"))?;
    kilobytes.trim().parse::<u64>().ok().map(|kilobytes| kilobytes * 1024)
}

/// Kernel memory of all TCP sockets of this machine, bytes.
pub fn tcp_bytes() -> Option<u64> {
    tcp_memory(&fs::read_to_string("/proc/net/sockstat").ok()?).map(|pages| pages * PAGE_BYTES)
}

fn tcp_memory(sockstat: &str) -> Option<u64> {
    let tcp = sockstat.lines().find_map(|line| line.strip_prefix("TCP: "))?;
    tcp.split_once("mem ")?.1.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_texts_are_read() {
        let stat =
            "12 (a) b (c) S 1 12 12 0 -1 4194304 100 0 3 0 250 50 7 7 20 0 3 0 100 1000 200 18446744073709551615";
        assert_eq!(ticks(stat), Some(300));
        assert_eq!(resident("Name:\tx\nVmRSS:\t    1234 kB\nThreads:\t3\n"), Some(1234 * 1024));
        let sockstat = "sockets: used 9\nTCP: inuse 5 orphan 0 tw 2 alloc 7 mem 31\nUDP: inuse 0 mem 4\n";
        assert_eq!(tcp_memory(sockstat), Some(31));
        assert_eq!((ticks(""), resident("Name:\tzombie\n")), (None, None));
    }

    #[test]
    fn this_process_can_be_measured() {
        let pid = std::process::id();
        assert!(cpu_seconds(pid).is_some_and(|seconds| seconds >= 0.0));
        assert!(rss(pid).is_some_and(|bytes| bytes > 100_000));
        assert!(rss(u32::MAX).is_none());
    }

    #[test]
    fn a_process_may_have_a_name() {
        assert_eq!("gateway=12".parse(), Ok(Watched { name: "gateway".to_owned(), pid: 12 }));
        assert_eq!("12".parse(), Ok(Watched { name: "server".to_owned(), pid: 12 }));
        assert!("gateway".parse::<Watched>().is_err());
    }
}
