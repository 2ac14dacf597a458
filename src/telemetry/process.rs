//! Metrics of the process, by the names of
//! <https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics>.

use std::fmt;

use procfs::process::{self, LimitValue};
use procfs::{ProcResult, WithCurrentSystemInfo};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// Read from `/proc` at each scrape. Where there is none, nothing is exported.
#[derive(Debug, Default)]
pub struct Process;

struct Usage {
    open_files: usize,
    open_files_max: Option<u64>,
    resident_bytes: u64,
    virtual_bytes: u64,
    threads: i64,
    cpu_seconds: f64,
    start_seconds: f64,
}

impl Usage {
    fn read() -> ProcResult<Self> {
        let process = process::Process::myself()?;
        let stat = process.stat()?;
        let ticks_per_second = procfs::ticks_per_second() as f64;
        let open_files_max = match process.limits()?.max_open_files.soft_limit {
            LimitValue::Value(limit) => Some(limit),
            LimitValue::Unlimited => None,
        };
        Ok(Usage {
            open_files: process.fd_count()?,
            open_files_max,
            resident_bytes: stat.rss_bytes().get(),
            virtual_bytes: stat.vsize,
            threads: stat.num_threads,
            cpu_seconds: (stat.utime + stat.stime) as f64 / ticks_per_second,
            start_seconds: procfs::boot_time_secs()? as f64 + stat.starttime as f64 / ticks_per_second,
        })
    }
}

impl Collector for Process {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let Ok(usage) = Usage::read() else { return Ok(()) };
        let cpu = ConstCounter::new(usage.cpu_seconds);
        let what = "User and system CPU time spent";
        cpu.encode(encoder.encode_descriptor("process_cpu", what, Some(&Unit::Seconds), cpu.metric_type())?)?;
        let mut gauge = |name, what, unit: Option<&Unit>, value: f64| {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, what, unit, gauge.metric_type())?)
        };
        let start = "When the process started, since 1970";
        gauge("process_start_time", start, Some(&Unit::Seconds), usage.start_seconds)?;
        let resident = "Resident memory";
        gauge("process_resident_memory", resident, Some(&Unit::Bytes), usage.resident_bytes as f64)?;
        gauge("process_virtual_memory", "Virtual memory", Some(&Unit::Bytes), usage.virtual_bytes as f64)?;
        gauge("process_threads", "Threads", None, usage.threads as f64)?;
        gauge("process_open_fds", "Open file descriptors", None, usage.open_files as f64)?;
        match usage.open_files_max {
            Some(max) => gauge("process_max_fds", "File descriptors that may be open", None, max as f64),
            None => Ok(()),
        }
    }
}
