//! The metrics of gRPC calls.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tonic::Code;

/// All methods, with their labels. Anything else is counted as [`OTHER`], so that no caller can make up a label.
const METHODS: [(&str, &str); 29] = [
    ("heartline.v1.History/Put", "put"),
    ("heartline.v1.History/Get", "get"),
    ("heartline.v1.History/List", "list"),
    ("heartline.v1.History/Delete", "delete"),
    ("heartline.v1.History/Clear", "clear"),
    ("heartline.v1.History/GetRecording", "get_recording"),
    ("heartline.v1.History/SetRecording", "set_recording"),
    ("heartline.v1.History/Open", "open"),
    ("heartline.v1.History/Rewards", "rewards"),
    ("heartline.v1.History/Users", "users"),
    ("heartline.internal.v1.Gateways/Follow", "gateway_follow"),
    ("heartline.internal.v1.Gateways/Commit", "gateway_commit"),
    ("heartline.internal.v1.Gateways/Get", "gateway_read"),
    ("heartline.internal.v1.Gateways/List", "gateway_read"),
    ("heartline.internal.v1.Gateways/LastSwitch", "gateway_read"),
    ("heartline.internal.v1.Gateways/Open", "gateway_open"),
    ("heartline.internal.v1.Gateways/Claims", "gateway_read"),
    ("heartline.internal.v1.Gateways/Users", "gateway_read"),
    ("heartline.internal.v1.Gateways/Walk", "gateway_read"),
    ("heartline.internal.v1.Gateways/Time", "gateway_time"),
    ("heartline.internal.v1.Gateways/Announce", "gateway_announce"),
    ("heartline.internal.v1.Gateways/Revocations", "gateway_revocations"),
    ("heartline.internal.v1.Gateways/Revoke", "gateway_revocations"),
    ("heartline.internal.v1.Gateways/TakeBack", "gateway_revocations"),
    ("heartline.internal.v1.Gateways/Forward", "gateway_forward"),
    ("grpc.health.v1.Health/Check", "health_check"),
    ("grpc.health.v1.Health/Watch", "health_watch"),
    ("grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "reflection"),
    ("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", "reflection"),
];
const OTHER: &str = "other";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    method: &'static str,
    status: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Method {
    method: &'static str,
}

#[derive(Clone)]
pub struct Metrics {
    calls: Family<Labels, Counter>,
    seconds: Family<Method, Histogram, fn() -> Histogram>,
    pub in_progress: Gauge,
    pub connections: Gauge,
    pub refused: Counter,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let metrics = Metrics {
            calls: Family::default(),
            seconds: Family::new_with_constructor(histogram as fn() -> Histogram),
            in_progress: Gauge::default(),
            connections: Gauge::default(),
            refused: Counter::default(),
        };
        for method in METHODS.into_iter().map(|(_, method)| method).chain([OTHER]) {
            for status in (0..=16).map(|code| name(Code::from(code))) {
                drop(metrics.calls.get_or_create(&Labels { method, status }));
            }
            drop(metrics.seconds.get_or_create(&Method { method }));
        }
        registry.register("grpc_calls", "Calls over gRPC, by method and status", metrics.calls.clone());
        registry.register("grpc_call_seconds", "Time to answer a call over gRPC, by method", metrics.seconds.clone());
        registry.register("grpc_calls_in_progress", "Calls over gRPC in progress", metrics.in_progress.clone());
        registry.register("grpc_connections", "Open connections over gRPC", metrics.connections.clone());
        let meaning = "Connections to the gRPC listener that were closed: too many, or no handshake in time";
        registry.register("grpc_connections_refused", meaning, metrics.refused.clone());
        metrics
    }

    /// `path`: of the call, with a slash in front.
    pub fn observe(&self, path: &str, status: Code, took: Duration) {
        let asked = path.strip_prefix('/').unwrap_or(path);
        let method = METHODS.into_iter().find(|(path, _)| *path == asked).map_or(OTHER, |(_, method)| method);
        self.calls.get_or_create(&Labels { method, status: name(status) }).inc();
        self.seconds.get_or_create(&Method { method }).observe(took.as_secs_f64());
    }
}

/// From 0.1 ms to the deadline of a call without one.
fn histogram() -> Histogram {
    Histogram::new([0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0])
}

/// As the documents of gRPC write it, in small letters.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "ok",
        Code::Cancelled => "cancelled",
        Code::Unknown => "unknown",
        Code::InvalidArgument => "invalid_argument",
        Code::DeadlineExceeded => "deadline_exceeded",
        Code::NotFound => "not_found",
        Code::AlreadyExists => "already_exists",
        Code::PermissionDenied => "permission_denied",
        Code::ResourceExhausted => "resource_exhausted",
        Code::FailedPrecondition => "failed_precondition",
        Code::Aborted => "aborted",
        Code::OutOfRange => "out_of_range",
        Code::Unimplemented => "unimplemented",
        Code::Internal => "internal",
        Code::Unavailable => "unavailable",
        Code::DataLoss => "data_loss",
        Code::Unauthenticated => "unauthenticated",
    }
}
