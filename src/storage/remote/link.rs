//! The connection to one history service, opened again whenever it is lost.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint};
use tonic::{Code, Streaming};

use super::commits::Commits;
use super::parcels::ParcelQueue;
use super::service::{Service, Visit, next_request};
use super::services::{First, Misfit, Services};
use model::backoff::Backoff;
use model::ids::UserId;
use storage::agreed_settings::Difference;
use storage::config::history_service::ServiceAddress;
use storage::device_channel::codec::{PeerMessage, decode};
use storage::gateway_messages::wire::follow_event::Event;
use storage::gateway_messages::wire::gateways_client::GatewaysClient;
use storage::gateway_messages::wire::{Away, FollowEvent, FollowRequest, Told};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A service whose machine is gone is noticed after both.
const PING_AFTER: Duration = Duration::from_secs(1);
const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a service may take to say what it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(5);
const AGAIN: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
/// Bytes on their way to this gateway, of one call and of all: an answer does not wait for its reader.
const STREAM_WINDOW: u32 = 2 << 20;
const CONNECTION_WINDOW: u32 = 8 << 20;
/// Bytes of one answer: a page of a list has long names of devices at worst.
const ANSWER_BYTES_MAX: usize = 64 << 20;

pub struct Link {
    pub services: Arc<Services>,
    pub address: ServiceAddress,
    pub place: SocketAddr,
}

/// Why a connection ended.
enum Ended {
    /// It was used, and is lost.
    Lost(String),
    /// The service could not be reached, or does not serve.
    Away(String),
    /// It does not take the token.
    Refused(String),
    /// It has another store.
    Foreign(String),
    /// It has other settings.
    Differs(Vec<Difference>),
}

/// A service in use. Dropped, its lanes go to other services.
struct InUse {
    services: Arc<Services>,
    service: Arc<Service>,
    parcels: Arc<ParcelQueue>,
    is_used: bool,
}

impl Link {
    /// Never ends.
    pub async fn keep(self) {
        let (mut backoff, mut told) = (AGAIN, false);
        loop {
            let (service, place) = (&self.address, self.place);
            match self.connect().await {
                Ended::Lost(why) => {
                    tracing::warn!(event = "history_service_lost", %service, %place, why, "history service lost");
                    (backoff, told) = (AGAIN, false);
                }
                Ended::Away(why) => {
                    self.services.first.send_if_modified(|first| first.is_away(format!("{service}: {why}")));
                    if !std::mem::replace(&mut told, true) {
                        tracing::warn!(event = "history_service_away", %service, %place, why, "cannot reach a history service; retrying");
                    }
                }
                Ended::Refused(why) => {
                    let refused = First::Refused(format!("{service}: {why}"));
                    self.services.first.send_if_modified(|first| first.is_refused(refused));
                    if !std::mem::replace(&mut told, true) {
                        tracing::error!(event = "history_service_refused", %service, %place, why, "a history service refuses this gateway");
                    }
                }
                Ended::Differs(differences) => {
                    let why = Difference::joined(&differences);
                    self.services.first.send_if_modified(|first| first.is_refused(First::Differs(differences)));
                    if !std::mem::replace(&mut told, true) {
                        tracing::error!(event = "history_service_differs", %service, %place, why, "a history service has other settings than this gateway; it is not used");
                    }
                }
                Ended::Foreign(store) => {
                    if !std::mem::replace(&mut told, true) {
                        tracing::error!(
                            event = "history_service_foreign",
                            %service,
                            %place,
                            store,
                            "a history service has another store than the others; it is not used"
                        );
                    }
                }
            }
            let pause = backoff.failed_with_jitter(rand::random());
            sleep(pause).await;
        }
    }

    async fn connect(&self) -> Ended {
        let channel = match self.endpoint() {
            Ok(endpoint) => endpoint.connect().await,
            Err(error) => Err(error),
        };
        let channel = match channel {
            Ok(channel) => channel,
            Err(error) => return Ended::Away(super::chain(&error)),
        };
        let stub = GatewaysClient::new(channel).max_decoding_message_size(ANSWER_BYTES_MAX);
        let parcels = Arc::new(ParcelQueue::default());
        let (service, visits) = Service::new(self.place.to_string(), stub.clone(), parcels.clone());
        let (mut events, away) = match self.greet(stub.clone(), visits).await {
            Ok(greeted) => greeted,
            Err(ended) => return ended,
        };
        service.set_away(&away.shards);
        let heard = self.services.clone();
        let commits = Commits {
            stub,
            bearer: self.services.bearer.clone(),
            gateway: self.services.gateway,
            metrics: self.services.metrics.clone(),
            heard: Arc::new(move |today| heard.is_day(today)),
        };
        let mut in_use = InUse::begin(self.services.clone(), service, parcels.clone());
        tracing::info!(event = "history_service_connected", service = %self.address, place = %self.place, "history service connected");
        tokio::select! {
            why = self.listen(&mut events, &mut in_use) => Ended::Lost(why),
            never = commits.run(&parcels) => match never {},
        }
    }

    fn endpoint(&self) -> Result<Endpoint, tonic::transport::Error> {
        let ServiceAddress { tls, host, .. } = &self.address;
        let scheme = if *tls { "https" } else { "http" };
        let endpoint = Endpoint::from_shared(format!("{scheme}://{}", self.place))?
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_TIMEOUT)
            .keep_alive_while_idle(true)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW);
        if !*tls {
            return Ok(endpoint);
        }
        let config = ClientTlsConfig::new().domain_name(host);
        endpoint.tls_config(match &self.services.authorities {
            Some(pem) => config.ca_certificate(Certificate::from_pem(pem)),
            None => config.with_native_roots(),
        })
    }

    /// Opens the stream of what others change, on which the service says what it is, and what it cannot commit.
    async fn greet(
        &self,
        mut stub: GatewaysClient<Channel>,
        visits: mpsc::UnboundedReceiver<Visit>,
    ) -> Result<(Streaming<FollowEvent>, Away), Ended> {
        let gateway = self.services.gateway.0;
        let first = FollowRequest { gateway, come: Vec::new(), left: Vec::new() };
        let requests = stream::unfold((Some(first), visits), move |(first, mut visits)| async move {
            let request = match first {
                Some(first) => Some(first),
                None => next_request(gateway, &mut visits).await,
            };
            request.map(|request| (request, (None, visits)))
        });
        let opening = async {
            let mut events = stub.follow(self.services.bearer.request(requests, None)).await?.into_inner();
            let hello = events.message().await?;
            Ok::<_, tonic::Status>((events, hello.and_then(|event| event.event)))
        };
        let opened = timeout(HELLO_TIMEOUT, opening).await.map_err(|_| Ended::Away("it does not answer".to_owned()))?;
        let (events, hello) = opened.map_err(|status| match status.code() {
            Code::Unauthenticated | Code::PermissionDenied => Ended::Refused(status.message().to_owned()),
            Code::Unimplemented => Ended::Refused("it is no history service for gateways".to_owned()),
            _ => Ended::Away(super::chain(&status)),
        })?;
        match hello {
            Some(Event::Hello(hello)) => match self.services.greeted(&hello) {
                Ok(()) => Ok((events, hello.away.unwrap_or_default())),
                Err(Misfit::Store) => Err(Ended::Foreign(hello.store)),
                Err(Misfit::Settings(differences)) => Err(Ended::Differs(differences)),
            },
            _ => Err(Ended::Away("it drains".to_owned())),
        }
    }

    /// Until the connection is lost; returns why.
    async fn listen(&self, events: &mut Streaming<FollowEvent>, in_use: &mut InUse) -> String {
        loop {
            match events.message().await {
                Ok(Some(FollowEvent { event: Some(event) })) => match event {
                    Event::Told(told) => self.receive(&told),
                    // Requests under way are still answered.
                    Event::Goodbye(_) => in_use.end(),
                    Event::Away(away) => self.receive_away(&in_use.service, &away),
                    Event::Hello(_) => {}
                },
                Ok(Some(FollowEvent { event: None })) => {}
                Ok(None) => return "it has ended the connection".to_owned(),
                Err(status) => return super::chain(&status),
            }
        }
    }

    fn receive_away(&self, service: &Service, away: &Away) {
        let (now, before) = self.services.lanes.set_away(service, &away.shards);
        let (address, place) = (&self.address, self.place);
        if now > 0 && before == 0 {
            tracing::warn!(event = "history_service_store_away", service = %address, %place, shards = now, "a history service cannot reach its store, or a part of it; its users go to other services");
        } else if now == 0 && before > 0 {
            tracing::info!(event = "history_service_store_back", service = %address, %place, "a history service reaches its store again");
        }
    }

    fn receive(&self, told: &Told) {
        let Some(subscriber) = self.services.subscriber.lock().clone() else { return };
        match decode(&told.message) {
            Ok((_, PeerMessage::UserChange(change))) => subscriber.changed(UserId(told.mid), change),
            Ok((_, PeerMessage::Announced(announcement))) => subscriber.announced(announcement),
            Err(error) => {
                self.services.metrics.dropped.inc();
                tracing::debug!(%error, "unreadable message of a history service");
            }
        }
    }
}

impl InUse {
    fn begin(services: Arc<Services>, service: Arc<Service>, parcels: Arc<ParcelQueue>) -> Self {
        services.metrics.services.set(services.lanes.add(service.clone()) as i64);
        // Earlier announcements are not repeated.
        services.subscriber.lock().iter().for_each(|subscriber| subscriber.connected());
        InUse { services, service, parcels, is_used: true }
    }

    fn end(&mut self) {
        if std::mem::replace(&mut self.is_used, false) {
            self.services.metrics.services.set(self.services.lanes.remove(&self.service) as i64);
        }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.end();
        self.parcels.close();
    }
}
