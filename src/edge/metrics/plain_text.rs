//! Metrics in Prometheus's text format 0.0.4, made of OpenMetrics text.
//!
//! The samples are the same. What differs are the lines about a family: here it has the name of its samples (a counter
//! ends with `_total`), its type is one of those that the older format has, and there are neither units nor an end mark.

/// `page`: OpenMetrics, whose help of a family comes right before its type.
pub fn of(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut help = None;
    for line in page.lines() {
        if let Some(line) = line.strip_prefix("# HELP ") {
            help = line.split_once(' ');
        } else if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|line| line.split_once(' ')) {
            let (suffix, kind) = match kind {
                "counter" => ("_total", kind),
                "info" => ("_info", "gauge"),
                "unknown" => ("", "untyped"),
                _ => ("", kind),
            };
            if let Some((_, help)) = help.take().filter(|(of, _)| *of == name) {
                text += &format!("# HELP {name}{suffix} {help}\n");
            }
            text += &format!("# TYPE {name}{suffix} {kind}\n");
        } else if !line.starts_with('#') {
            text.push_str(line);
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family;
    use prometheus_client::metrics::gauge::Gauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::metrics::info::Info;
    use prometheus_client::registry::{Registry, Unit};

    #[test]
    fn families_have_the_names_of_their_samples_and_the_types_of_the_older_format() {
        let mut registry = Registry::with_prefix("a");
        registry.register("build", "The build", Info::new([("version", "1")]));
        let closes = Family::<Vec<(&str, &str)>, Counter>::default();
        closes.get_or_create(&vec![("code", "# TYPE b")]).inc_by(3);
        registry.register("closes", "Sockets closed", closes);
        registry.register_with_unit("disk", "Bytes on the disk", Unit::Bytes, Gauge::<i64>::default());
        registry.register("taken", "Seconds taken", Histogram::new([0.5]));
        let mut page = String::new();
        text::encode(&mut page, &registry).expect("a String takes all that is written to it");
        let expected = "\
# HELP a_build_info The build.
# TYPE a_build_info gauge
a_build_info{version=\"1\"} 1
# HELP a_closes_total Sockets closed.
# TYPE a_closes_total counter
a_closes_total{code=\"# TYPE b\"} 3
# HELP a_disk_bytes Bytes on the disk.
# TYPE a_disk_bytes gauge
a_disk_bytes 0
# HELP a_taken Seconds taken.
# TYPE a_taken histogram
a_taken_sum 0.0
a_taken_count 0
a_taken_bucket{le=\"0.5\"} 0
a_taken_bucket{le=\"+Inf\"} 0
";
        assert_eq!(super::of(&page), expected);
    }
}
