//! The server of the gRPC listener, from its start to the end of a drain.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use tokio::net::TcpListener;
use tokio::time::sleep;
use tonic::codec::CompressionEncoding;
use tonic::transport::Server;
use tonic_health::ServingStatus;
use tonic_health::server::{HealthReporter, health_reporter};
use tonic_reflection::server::Builder as Reflection;

use super::caller::Callers;
use super::config::GrpcConfig;
use super::connection::Patience;
use super::gate::Gate;
use super::gateways::GatewayService;
use super::metrics::Metrics;
use super::service::Service;
use super::wire::history_server::{HistoryServer, SERVICE_NAME};
use super::{SCHEMA, listener};
use crate::listener::Tls;
use crate::shutdown::Stop;
use domain::gateway_messages::wire::gateways_server::GatewaysServer;

/// Bytes of one message, unpacked.
const MESSAGE_BYTES_MAX: usize = 4 << 20;
/// Calls of one connection at a time; a client keeps further ones back.
const STREAMS_MAX: u32 = 256;
/// Bytes on their way here, of one call and of all calls of a connection: a batch does not wait for its reader.
const STREAM_WINDOW: u32 = 1 << 20;
const CONNECTION_WINDOW: u32 = 4 << 20;
/// A connection whose other end is gone is closed after both. Many load balancers end one that is silent for 60 s.
const PING_AFTER: Duration = Duration::from_secs(50);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a drain tells load balancers that nothing is served any more, before connections are closed.
const GOODBYE: Duration = Duration::from_secs(1);
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub struct GrpcServer {
    service: Service,
    gateways: GatewayService,
    gate: Gate,
    metrics: Metrics,
    patience: Patience,
    stop: Stop,
}

impl GrpcServer {
    /// `gateways`: with the context of a thread of its own. `calls_max`: calls in progress at a time.
    pub fn new(
        gateways: GatewayService,
        config: &GrpcConfig,
        patience: Patience,
        calls_max: usize,
        registry: &mut Registry,
    ) -> Self {
        let GatewayService { context, users, called_users, .. } = gateways.clone();
        let metrics = Metrics::new(registry);
        let callers = Callers::new(context.authenticator.clone(), &config.callers);
        let clock_status = context.clock_status.clone();
        let gate = Gate::new(callers, clock_status, calls_max, config.deadline, metrics.clone());
        let stop = context.stop.clone();
        GrpcServer { service: Service { context, users, called_users }, gateways, gate, metrics, patience, stop }
    }

    /// Serves until a drain has ended.
    pub async fn serve(self, listener: TcpListener, tls: Option<Arc<Tls>>) -> Result<(), tonic::transport::Error> {
        let GrpcServer { service, gateways, gate, metrics, patience, stop } = self;
        let (health, health_service) = health_reporter();
        set_health(&health, ServingStatus::Serving).await;
        let history = HistoryServer::new(service)
            .max_decoding_message_size(MESSAGE_BYTES_MAX)
            .accept_compressed(CompressionEncoding::Gzip)
            .send_compressed(CompressionEncoding::Gzip);
        let gateways = GatewaysServer::new(gateways).max_decoding_message_size(MESSAGE_BYTES_MAX);
        let reflection = || {
            let known = Reflection::configure().register_encoded_file_descriptor_set(SCHEMA);
            known.register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let (reflection_v1, reflection_v1alpha) = (reflection().build_v1(), reflection().build_v1alpha());
        let expect = "the schemas are some, as every start of a server shows";
        let router = Server::builder()
            .max_concurrent_streams(STREAMS_MAX)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .http2_keepalive_interval(Some(PING_AFTER))
            .http2_keepalive_timeout(Some(PING_TIMEOUT))
            .layer(gate.clone())
            .add_service(history)
            .add_service(gateways)
            .add_service(health_service)
            .add_service(reflection_v1.expect(expect))
            .add_service(reflection_v1alpha.expect(expect));
        let goodbye = {
            let (ending, draining) = (stop.ending(), stop.draining());
            async move {
                ending.await;
                set_health(&health, ServingStatus::NotServing).await;
                draining.await;
                sleep(GOODBYE).await;
            }
        };
        let incoming = listener::connections(listener, tls, patience, metrics);
        let served = router.serve_with_incoming_shutdown(incoming, goodbye);
        tokio::select! {
            served = served => served,
            () = emptied(&gate, &stop) => Ok(()),
            () = stop.stopped() => Ok(()),
        }
    }
}

/// Sets the health of the process as a whole and of the service.
async fn set_health(health: &HealthReporter, status: ServingStatus) {
    for name in ["", SERVICE_NAME] {
        health.set_service_status(name, status).await;
    }
}

/// A drain, and the end of all calls after it. Streams that watch the health are not waited for: they do not end.
async fn emptied(gate: &Gate, stop: &Stop) {
    stop.draining().await;
    sleep(GOODBYE).await;
    while !gate.is_idle() {
        sleep(LOOK_EVERY).await;
    }
    // For the last answers on their way.
    sleep(GOODBYE).await;
}
