//! Metrics of flights.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

#[derive(Clone)]
pub struct Metrics {
    pub flights: Counter,
    pub documents: Counter,
    pub repeats: Counter,
    pub taken_over: Counter,
    pub failures: Counter,
    pub seconds: Histogram,
    pub oldest_seconds: Gauge,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let seconds = Histogram::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0]);
        let metrics = Metrics {
            flights: Counter::default(),
            documents: Counter::default(),
            repeats: Counter::default(),
            taken_over: Counter::default(),
            failures: Counter::default(),
            seconds,
            oldest_seconds: Gauge::default(),
        };
        let Metrics { flights, documents, repeats, taken_over, failures, seconds, oldest_seconds } = metrics.clone();
        registry.register("flights", "Flights of sums that are known to be in the statistics store", flights);
        registry.register("flight_documents", "Documents that flights have changed", documents);
        let meaning = "Documents that had the flight already, because it was written before";
        registry.register("flight_repeats", meaning, repeats);
        let meaning = "Flights that another gateway, or this process before its start, had begun";
        registry.register("flights_taken_over", meaning, taken_over);
        let meaning = "Attempts to write flights that failed; the sums stay in the hot store";
        registry.register("flight_failures", meaning, failures);
        registry.register("flight_seconds", "Time from a flight's beginning to its end, failures excluded", seconds);
        let meaning = "Age of the oldest sum that is not known to be in the statistics store; 0 = there is none, or \
                       another gateway writes flights";
        registry.register("flight_oldest_seconds", meaning, oldest_seconds);
        metrics
    }
}
