//! Two receivers of reward events, each a subscriber of this gateway. The page makes one of them slow or breaks it, and
//! shows what becomes of both queues.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use axum::extract::{Path, Request, State};
use axum::response::Response;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::sleep;

use super::DemoContext;
use super::same_page::refuse_other_pages;
use crate::http::body;
use crate::http::problem::Problem;
use crate::protocol::json::{FilterNames, encode_subscriber};
use domain::subscribers::{Definition, Subscribers, SubscribersError};
use model::subscribers::{EventType, Filter, SubscriberId};

/// Each is the end of a path, and after `demo-` the id of a subscriber.
const NAMES: [&str; 2] = ["receiver", "neighbour"];
/// For the answer of a slow one. Shorter than the timeout of a delivery.
const SLOWNESS: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: usize = 1024;
/// The most bytes of one delivered event, with room to spare.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// How a receiver answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Behaviour {
    /// At once, with 204.
    #[default]
    Healthy,
    /// The same, two seconds later.
    Slow,
    /// At once, with 500.
    Broken,
}

pub struct Receivers {
    subscribers: Arc<Subscribers>,
    /// Where this gateway serves the demo.
    public: SocketAddr,
    all: [Receiver; 2],
}

struct Receiver {
    name: &'static str,
    behaviour: Mutex<Behaviour>,
    /// Events that it has confirmed since the gateway's start.
    received: AtomicU64,
}

#[derive(Serialize)]
struct ListView {
    receivers: Vec<ReceiverView>,
}

#[derive(Serialize)]
struct ReceiverView {
    name: &'static str,
    behaviour: Behaviour,
    received: u64,
    /// As the control API shows it; `None`: it is not subscribed.
    subscriber: Option<Box<RawValue>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BehaviourBody {
    behaviour: Behaviour,
}

impl Receivers {
    pub fn new(subscribers: Arc<Subscribers>, public: SocketAddr) -> Self {
        let receiver = |name| Receiver { name, behaviour: Mutex::default(), received: AtomicU64::new(0) };
        Receivers { subscribers, public, all: NAMES.map(receiver) }
    }

    fn get(&self, name: &str) -> Result<&Receiver, Problem> {
        let found = self.all.iter().find(|receiver| receiver.name == name);
        found.ok_or_else(|| Problem::not_found(format!("there is no such receiver; there are {}", NAMES.join(" and "))))
    }

    async fn list(&self) -> Result<Response, Problem> {
        let mut receivers = Vec::new();
        for Receiver { name, behaviour, received } in &self.all {
            let owner = if_subscribed(self.subscribers.get(&id_of(name)).await)?;
            // Its filter names no user.
            let json = owner.map(|owner| encode_subscriber(&owner, &FilterNames::default(), None));
            let subscriber = json.map(|json| RawValue::from_string(json).expect("it is JSON"));
            let (behaviour, received) = (*behaviour.lock(), received.load(Relaxed));
            receivers.push(ReceiverView { name, behaviour, received, subscriber });
        }
        Ok(body::answered(serde_json::to_string(&ListView { receivers }).expect("text and numbers")))
    }

    async fn subscribe(&self) -> Result<(), Problem> {
        for receiver in &self.all {
            let url = format!("http://{}/demo/receivers/{}", self.public, receiver.name);
            let url = self.subscribers.endpoint(&url).map_err(|error| Problem::invalid(format!("url: {error}")))?;
            let (types, filter) = (vec![EventType::Reward], Filter::default());
            let definition = Definition { url, types, filter, batch: 1, secret: None };
            self.subscribers.put(&id_of(receiver.name), definition).await?;
        }
        Ok(())
    }

    async fn unsubscribe(&self) -> Result<(), Problem> {
        for receiver in &self.all {
            *receiver.behaviour.lock() = Behaviour::Healthy;
            if_subscribed(self.subscribers.delete(&id_of(receiver.name)).await)?;
        }
        Ok(())
    }

    /// A healthy one is tried again at once.
    async fn behave(&self, name: &str, behaviour: Behaviour) -> Result<(), Problem> {
        *self.get(name)?.behaviour.lock() = behaviour;
        if behaviour == Behaviour::Healthy {
            if_subscribed(self.subscribers.resume(&id_of(name)).await)?;
        }
        Ok(())
    }
}

/// `GET /demo/receivers`: `{"receivers":[{"name":"receiver","behaviour":"healthy","received":3,"subscriber":{…}},…]}`
pub async fn list(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    of(&context, &headers)?.list().await
}

/// `PUT /demo/receivers`: subscribes both. What they are owed stays. Answers as `GET` does.
pub async fn subscribe(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    let receivers = of(&context, &headers)?;
    receivers.subscribe().await?;
    receivers.list().await
}

/// `DELETE /demo/receivers`: both subscribers go, with their queues.
pub async fn unsubscribe(State(context): State<DemoContext>, headers: HeaderMap) -> Result<Response, Problem> {
    let receivers = of(&context, &headers)?;
    receivers.unsubscribe().await?;
    receivers.list().await
}

/// `PUT /demo/receivers/{name}` `{"behaviour":"healthy|slow|broken"}`
pub async fn behave(
    State(context): State<DemoContext>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Problem> {
    let receivers = of(&context, request.headers())?;
    let body = body::received(request, BODY_BYTES_MAX).await?;
    let BehaviourBody { behaviour } =
        serde_json::from_slice(&body).map_err(|error| Problem::invalid(format!("body: {error}")))?;
    receivers.behave(&name, behaviour).await?;
    receivers.list().await
}

/// `POST /demo/receivers/{name}`: a delivery of one event.
pub async fn receive(
    State(context): State<DemoContext>,
    Path(name): Path<String>,
    request: Request,
) -> Result<StatusCode, Problem> {
    let receiver = of(&context, request.headers())?.get(&name)?;
    body::whole(request.into_body(), EVENT_BYTES_MAX).await?;
    let behaviour = *receiver.behaviour.lock();
    match behaviour {
        Behaviour::Healthy => {}
        Behaviour::Slow => sleep(SLOWNESS).await,
        Behaviour::Broken => return Ok(StatusCode::INTERNAL_SERVER_ERROR),
    }
    receiver.received.fetch_add(1, Relaxed);
    Ok(StatusCode::NO_CONTENT)
}

fn of<'a>(context: &'a DemoContext, headers: &HeaderMap) -> Result<&'a Receivers, Problem> {
    refuse_other_pages(headers)?;
    let why = "this gateway delivers to no receiver of the demo: its store is not embedded, or it speaks TLS";
    context.receivers.as_deref().ok_or_else(|| Problem::not_found(why))
}

/// `None`: there is no such subscriber.
fn if_subscribed<T>(answer: Result<T, SubscribersError>) -> Result<Option<T>, Problem> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(SubscribersError::Missing) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn id_of(name: &str) -> SubscriberId {
    format!("demo-{name}").parse().expect("an id")
}
