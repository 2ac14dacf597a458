//! The gate of every call before its service: it finds the caller, room for the call, and the deadline of the answer.

use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{HeaderMap, Request, Response};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::{Code, Status};
use tower::{Layer, Service};

use super::caller::Callers;
use super::calls::{self, Answer};
use super::connection::Peer;
use super::metrics::Metrics;
use super::status;
use domain::time::guard::ClockStatus;

/// Asked for by load balancers, which have no token.
const HEALTH: &str = "/grpc.health.v1.Health/";
const HISTORY: &str = "/heartline.v1.History/";
const GATEWAYS: &str = "/heartline.internal.v1.Gateways/";
/// Open for as long as a gateway runs.
const FOLLOW: &str = "/heartline.internal.v1.Gateways/Follow";
const TIMEOUT: &str = "grpc-timeout";
/// The longest time that is kept for writing an answer.
const ANSWER_TAKES_MAX: Duration = Duration::from_millis(200);

/// By when a call has to be answered. In the extensions of each.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    pub at: Instant,
    /// How long the call had from its beginning.
    pub within: Duration,
}

impl Deadline {
    /// When to begin to write an answer that tells how far the call came.
    pub fn answer_by(self) -> Instant {
        self.at - (self.within / 10).min(ANSWER_TAKES_MAX)
    }
}

#[derive(Clone)]
pub struct Gate(Arc<Shared>);

struct Shared {
    callers: Callers,
    clock_status: ClockStatus,
    /// Slots of calls in progress.
    slots: Arc<Semaphore>,
    slots_max: usize,
    /// The deadline of a call that names none.
    deadline: Duration,
    metrics: Metrics,
}

/// A service behind the gate.
#[derive(Clone)]
pub struct Gated<S> {
    inner: S,
    gate: Gate,
}

/// A call, which is counted however it ends.
struct Call {
    path: String,
    began: std::time::Instant,
    status: Code,
    metrics: Metrics,
}

/// A slot, as the metrics show it.
struct Slot {
    _permit: OwnedSemaphorePermit,
    metrics: Metrics,
}

impl Gate {
    /// `calls_max`: calls in progress at a time. `deadline`: of a call that names none.
    pub fn new(
        callers: Callers,
        clock_status: ClockStatus,
        calls_max: usize,
        deadline: Duration,
        metrics: Metrics,
    ) -> Self {
        let slots = Arc::new(Semaphore::new(calls_max));
        Gate(Arc::new(Shared { callers, clock_status, slots, slots_max: calls_max, deadline, metrics }))
    }

    /// Whether no call is in progress.
    pub fn is_idle(&self) -> bool {
        self.0.slots.available_permits() == self.0.slots_max
    }

    /// Lets a call in, or says why not. Nothing of its message is read before.
    fn admit(&self, request: &mut Request<Body>) -> Result<Option<Slot>, Status> {
        if request.uri().path().starts_with(HEALTH) {
            return Ok(None);
        }
        let certificate = request.extensions().get().map(|peer: &Peer| peer.certificate.clone()).unwrap_or_default();
        let caller = self.0.callers.identify(request.headers(), &certificate)?;
        request.extensions_mut().insert(caller);
        let path = request.uri().path();
        if !path.starts_with(HISTORY) && !path.starts_with(GATEWAYS) {
            return Ok(None);
        }
        // A beat that is judged by a wrong clock may be refused for good.
        if let Some(trouble) = self.0.clock_status.trouble() {
            return Err(status::out_of_time(trouble));
        }
        if path == FOLLOW {
            return Ok(None);
        }
        let full = |_| status::overloaded("too many calls in progress (limits.grpc_calls)");
        let permit = self.0.slots.clone().try_acquire_owned().map_err(full)?;
        self.0.metrics.in_progress.inc();
        Ok(Some(Slot { _permit: permit, metrics: self.0.metrics.clone() }))
    }
}

impl<S> Layer<S> for Gate {
    type Service = Gated<S>;

    fn layer(&self, inner: S) -> Gated<S> {
        Gated { inner, gate: self.clone() }
    }
}

impl<S> Service<Request<Body>> for Gated<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<Body>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let call = Call::begin(&request, &self.gate.0.metrics);
        let of_connection = request.extensions().get().map(|peer: &Peer| peer.calls.begin());
        let Some(published) = self.gate.0.callers.awaited_key(request.headers()) else {
            return self.judge(call, of_connection, request);
        };
        // This one is ready for a call, its copy is not.
        let copy = self.clone();
        let mut ready = std::mem::replace(self, copy);
        async move {
            published.await;
            ready.judge(call, of_connection, request).await
        }
        .boxed()
    }
}

impl<S> Gated<S>
where
    S: Service<Request<Body>, Response = Response<Body>>,
    S::Future: Send + 'static,
{
    /// Answers the call, or says why not.
    fn judge(
        &mut self,
        mut call: Call,
        of_connection: Option<calls::Call>,
        mut request: Request<Body>,
    ) -> BoxFuture<'static, Result<Response<Body>, S::Error>> {
        let asked = timeout_of(request.headers());
        let admitted = asked.and_then(|asked| Ok((asked, self.gate.admit(&mut request)?)));
        let (asked, slot) = match admitted {
            Ok(admitted) => admitted,
            Err(status) => return async move { Ok(call.refuse(status)) }.boxed(),
        };
        let within = asked.unwrap_or(self.gate.0.deadline);
        let deadline = Deadline { at: Instant::now() + within, within };
        request.extensions_mut().insert(deadline);
        // A stream's first answer must be in time.
        let answer = self.inner.call(request);
        async move {
            let answered = timeout_at(deadline.at, answer).await;
            drop(slot);
            match answered {
                Ok(answer) => answer.map(|answer| call.answered(answer).map(|body| Answer::of(of_connection, body))),
                Err(_) => Ok(call.refuse(Status::deadline_exceeded("the call took longer than its deadline"))),
            }
        }
        .boxed()
    }
}

impl Call {
    fn begin(request: &Request<Body>, metrics: &Metrics) -> Self {
        let path = request.uri().path().to_owned();
        // It stays so if the caller gives up.
        Call { path, began: std::time::Instant::now(), status: Code::Cancelled, metrics: metrics.clone() }
    }

    fn refuse(&mut self, status: Status) -> Response<Body> {
        self.status = status.code();
        status.into_http()
    }

    /// The status of a success comes after the answer, that of an error in its head.
    fn answered(&mut self, answer: Response<Body>) -> Response<Body> {
        let Some(status) = Status::from_header_map(answer.headers()) else {
            self.status = Code::Ok;
            return answer;
        };
        self.status = status.code();
        // The library says so of a compressed message that is too long unpacked. It is no overload.
        if status.code() == Code::ResourceExhausted && status.details().is_empty() {
            return self.refuse(Status::out_of_range(status.message()));
        }
        answer
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.metrics.observe(&self.path, self.status, self.began.elapsed());
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.metrics.in_progress.dec();
    }
}

/// The timeout that a caller gives its call, as in gRPC over HTTP/2: at most eight digits and a unit.
fn timeout_of(headers: &HeaderMap) -> Result<Option<Duration>, Status> {
    let Some(value) = headers.get(TIMEOUT) else { return Ok(None) };
    let parse = || {
        let (digits, unit) = value.to_str().ok()?.split_at_checked(value.len().checked_sub(1)?)?;
        if digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let count: u64 = digits.parse().ok()?;
        Some(match unit {
            "H" => Duration::from_secs(count * 3600),
            "M" => Duration::from_secs(count * 60),
            "S" => Duration::from_secs(count),
            "m" => Duration::from_millis(count),
            "u" => Duration::from_micros(count),
            "n" => Duration::from_nanos(count),
            _ => return None,
        })
    };
    parse().map(Some).ok_or_else(|| status::invalid(TIMEOUT, "must be a timeout of gRPC, such as 500m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_has_a_unit() {
        let timeout = |text: &'static str| {
            let headers = HeaderMap::from_iter([(http::HeaderName::from_static(TIMEOUT), text.parse().unwrap())]);
            timeout_of(&headers).map_err(|status| status.code())
        };
        assert_eq!(timeout("1H"), Ok(Some(Duration::from_secs(3_600))));
        assert_eq!(timeout("2M"), Ok(Some(Duration::from_secs(120))));
        assert_eq!(timeout("99999999S"), Ok(Some(Duration::from_secs(99_999_999))));
        assert_eq!(timeout("500m"), Ok(Some(Duration::from_millis(500))));
        assert_eq!(timeout("7u"), Ok(Some(Duration::from_micros(7))));
        assert_eq!(timeout("7n"), Ok(Some(Duration::from_nanos(7))));
        for bad in ["", "S", "1", "1s", "-1S", "1.5S", "999999999S", "1 S"] {
            assert_eq!(timeout(bad), Err(Code::InvalidArgument), "{bad:?}");
        }
        assert_eq!(timeout_of(&HeaderMap::new()).ok(), Some(None));
    }
}
