//! The registry of metrics, with what is exported of the program and its process.

use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::build;
use super::process::Process;

/// The registry of `/metrics`. Process metrics have the names that all exporters share; all others belong to a [part].
pub fn registry() -> Registry {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Process));
    let build = Info::new([("version", build::VERSION), ("commit", build::COMMIT)]);
    part(&mut registry).register("build", "Version and commit of the program", build);
    registry
}

/// Where a part registers its metrics, in its constructor. All names begin with `heartline_`.
pub fn part(registry: &mut Registry) -> &mut Registry {
    registry.sub_registry_with_prefix(env!("CARGO_PKG_NAME"))
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[test]
    fn counter_names_end_with_total() {
        let mut registry = registry();
        let pushes: Counter = Counter::default();
        part(&mut registry).register("pushes", "Pushes sent", pushes.clone());
        pushes.inc();
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("a String takes all that is written to it");
        assert!(page.contains("\nheartline_pushes_total 1\n"), "{page}");
        assert!(page.ends_with("# EOF\n"));
    }

    #[test]
    fn a_process_is_measured_under_the_usual_names() {
        let mut page = String::new();
        text::encode(&mut page, &registry()).expect("a String takes all that is written to it");
        for name in [
            "process_open_fds",
            "process_max_fds",
            "process_resident_memory_bytes",
            "process_start_time_seconds",
            "process_cpu_seconds_total",
        ] {
            let sample = page.lines().find_map(|line| line.strip_prefix(&format!("{name} ")));
            let value: f64 = sample.expect(name).parse().expect("a number");
            assert!(value > 0.0 || name == "process_cpu_seconds_total", "{name} {value}");
        }
        let version = format!("heartline_build_info{{version=\"{}\",commit=\"", env!("CARGO_PKG_VERSION"));
        assert!(page.contains(&version), "{page}");
    }
}
