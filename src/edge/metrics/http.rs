//! How long requests take, by route, method and class of status.

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use http::{Method, StatusCode};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use std::time::Instant;

/// Every route of the [router](crate::http::router) with its methods. Anything else is counted as [`OTHER`], so
/// that no client can make up a label.
pub const ROUTES: [(&str, &[&str]); 10] = [
    ("/v1/beats", &["POST"]),
    ("/v1/history", &["GET", "DELETE"]),
    ("/v1/history/get", &["POST"]),
    ("/v1/history/{kind}/{oid}", &["GET", "DELETE"]),
    ("/v1/origin", &["GET"]),
    ("/v1/recording", &["GET", "PUT"]),
    ("/v1/rewards/today", &["GET"]),
    ("/v1/views/get", &["POST"]),
    ("/v1/views/{kind}/{oid}", &["POST"]),
    ("/v1/views/{kind}/{oid}/days", &["GET"]),
];
const OTHER: &str = "other";
const STATUSES: [&str; 3] = ["2xx", "4xx", "5xx"];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    route: &'static str,
    method: &'static str,
    status: &'static str,
}

#[derive(Clone)]
pub struct Metrics {
    seconds: Family<Labels, Histogram, fn() -> Histogram>,
}

impl Metrics {
    pub fn new(registry: &mut Registry) -> Self {
        let seconds = Family::new_with_constructor(histogram as fn() -> Histogram);
        let metrics = Metrics { seconds };
        for (route, methods) in ROUTES.into_iter().chain([(OTHER, &[][..])]) {
            for method in methods.iter().copied().chain([OTHER]) {
                STATUSES.into_iter().for_each(|status| drop(metrics.histogram(route, method, status)));
            }
        }
        let help = "Time to answer an HTTP request, by route, method and class of status";
        registry.register("http_request_seconds", help, metrics.seconds.clone());
        metrics
    }

    fn observe(&self, path: Option<&str>, method: &Method, status: StatusCode, began: Instant) {
        let known = ROUTES.into_iter().find(|(route, _)| Some(*route) == path);
        let (route, methods) = known.unwrap_or((OTHER, &[]));
        // A request for the head alone asks for the same.
        let asked = if method == Method::HEAD { Method::GET.as_str() } else { method.as_str() };
        let method = methods.iter().copied().find(|method| *method == asked).unwrap_or(OTHER);
        let status = match status.as_u16() {
            500.. => STATUSES[2],
            400.. => STATUSES[1],
            _ => STATUSES[0],
        };
        self.histogram(route, method, status).observe(began.elapsed().as_secs_f64());
    }

    fn histogram(&self, route: &'static str, method: &'static str, status: &'static str) -> Histogram {
        self.seconds.get_or_create_owned(&Labels { route, method, status })
    }
}

fn histogram() -> Histogram {
    Histogram::new([0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0])
}

/// To be put around everything else that answers.
pub async fn measure(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let (began, method) = (Instant::now(), request.method().clone());
    let path = request.extensions().get::<MatchedPath>().cloned();
    let response = next.run(request).await;
    let path = path.as_ref().map(MatchedPath::as_str);
    metrics.observe(path, &method, response.status(), began);
    response
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The routes in the source of the router, each with its methods.
    fn served() -> BTreeMap<String, Vec<String>> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("http");
        let files = fs::read_dir(folder).expect("the router").map(|file| file.expect("a file").path());
        let texts: Vec<_> =
            files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).expect("text")).collect();
        let routes = texts.iter().flat_map(|text| text.split(".route(").skip(1)).map(inside);
        routes.map(|route| (route.split('"').nth(1).expect("a path").to_owned(), methods(route))).collect()
    }

    /// The arguments, up to the parenthesis that ends them.
    fn inside(call: &str) -> &str {
        let mut open = 1;
        let is_end = |c: char| {
            open += i32::from(c == '(') - i32::from(c == ')');
            open == 0
        };
        call.split(is_end).next().unwrap_or_default()
    }

    fn methods(route: &str) -> Vec<String> {
        let is_before_name = |c: char| c == '.' || c.is_whitespace();
        let before_calls = route.split('(').rev().skip(1);
        let calls = before_calls.filter_map(|before| before.rsplit(is_before_name).next());
        let mut methods: Vec<_> = calls.map(str::to_uppercase).collect();
        methods.sort_unstable();
        methods
    }

    #[test]
    fn each_route_of_the_router_is_measured_with_its_methods() {
        let measured = ROUTES.map(|(route, methods)| {
            let mut methods: Vec<_> = methods.iter().map(|method| (*method).to_owned()).collect();
            methods.sort_unstable();
            (route.to_owned(), methods)
        });
        assert_eq!(BTreeMap::from(measured), served());
    }
}
