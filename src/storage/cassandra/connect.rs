//! From the settings to a session that may be used: connected, in one data center, with the keyspace and the table.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::time::Duration;

use scylla::client::execution_profile::{ExecutionProfile, ExecutionProfileHandle};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{DbError, ExecutionError, PrepareError, RequestAttemptError};
use scylla::policies::load_balancing::DefaultPolicy;
use scylla::statement::Consistency as Level;
use tokio::net::lookup_host;

use super::Schema;
use super::keyspace::{self, Options};
use super::refused::CassandraRefused;
use super::table::{self, Found, GC_GRACE_SECONDS, READ_REPAIR, TABLE};
use storage::config::cassandra::{CassandraConfig, Consistency};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout of a request, with its repeats on other nodes. Nodes give up earlier (write_request_timeout, 2 s).
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// A lost connection is noticed after the interval plus the timeout.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn connect(config: &CassandraConfig, schema: Schema) -> Result<Session, CassandraRefused> {
    let away = |cause: String| CassandraRefused::Unreachable { nodes: config.nodes.join(", "), cause };
    let mut builder = SessionBuilder::new()
        .known_nodes(&config.nodes)
        .connection_timeout(CONNECT_TIMEOUT)
        .keepalive_interval(KEEPALIVE_INTERVAL)
        .keepalive_timeout(KEEPALIVE_TIMEOUT)
        .tcp_nodelay(true)
        .default_execution_profile_handle(profile(config.consistency, None));
    if !config.user.is_empty() {
        builder = builder.user(&config.user, config.password.expose());
    }
    let session = builder.build().await.map_err(|error| CassandraRefused::of_connecting(&config.nodes, &error))?;
    let nodes = Nodes::of(&session, &config.nodes).await;
    let data_center = nodes.data_center(config.consistency)?;
    let handle = session.get_default_execution_profile_handle();
    handle.clone().map_to_another_profile(profile(config.consistency, data_center).to_profile());
    let failed = |error: ExecutionError| away(error.to_string());
    let mut found = find_keyspace(&session, &config.keyspace).await.map_err(failed)?;
    if found.is_none() && schema == Schema::Make {
        make(&session, keyspace::creation(&config.keyspace, &config.replication)).await?;
        found = find_keyspace(&session, &config.keyspace).await.map_err(failed)?;
    }
    let Some((replication, durable)) = found else {
        return Err(CassandraRefused::unfit(format!(
            "there is no keyspace {}; correct cassandra.keyspace, or start what writes to it first",
            config.keyspace
        )));
    };
    let mistakes = keyspace::mistakes(&config.keyspace, &config.replication, &replication, durable, &nodes.count);
    if !mistakes.is_empty() {
        return Err(CassandraRefused::Unfit(mistakes));
    }
    check_table(&session, &config.keyspace, schema).await?;
    Ok(session)
}

/// At a local quorum nothing goes to another data center, where most replicas may know nothing of a write.
fn profile(consistency: Consistency, data_center: Option<String>) -> ExecutionProfileHandle {
    let mut policy = DefaultPolicy::builder().token_aware(true);
    policy = policy.permit_dc_failover(consistency != Consistency::LocalQuorum);
    if let Some(data_center) = data_center {
        policy = policy.prefer_datacenter(data_center);
    }
    ExecutionProfile::builder()
        .consistency(level(consistency))
        .request_timeout(Some(REQUEST_TIMEOUT))
        .load_balancing_policy(policy.build())
        .build()
        .into_handle()
}

fn level(consistency: Consistency) -> Level {
    match consistency {
        Consistency::LocalQuorum => Level::LocalQuorum,
        Consistency::Quorum => Level::Quorum,
        Consistency::All => Level::All,
    }
}

/// The nodes of the cluster.
struct Nodes {
    /// By the name of the data center.
    count: BTreeMap<String, u64>,
    /// Data centers of the nodes that the settings name.
    named: BTreeSet<String>,
}

impl Nodes {
    async fn of(session: &Session, named: &[String]) -> Self {
        let mut addresses = BTreeSet::<IpAddr>::new();
        for node in named {
            if let Ok(found) = lookup_host(node).await {
                addresses.extend(found.map(|address| address.ip()));
            }
        }
        let mut nodes = Nodes { count: BTreeMap::new(), named: BTreeSet::new() };
        for node in session.get_cluster_state().get_nodes_info() {
            let data_center = node.datacenter.clone().unwrap_or_default();
            if addresses.contains(&node.address.ip()) {
                nodes.named.insert(data_center.clone());
            }
            *nodes.count.entry(data_center).or_default() += 1;
        }
        nodes
    }

    /// The one that is asked first. At a local quorum it must be known: in another one a read may not see a write.
    fn data_center(&self, consistency: Consistency) -> Result<Option<String>, CassandraRefused> {
        let candidates = if self.count.len() == 1 { self.count.keys().collect() } else { Vec::from_iter(&self.named) };
        match candidates[..] {
            [one] => Ok(Some(one.clone())),
            _ if consistency != Consistency::LocalQuorum => Ok(None),
            _ => Err(CassandraRefused::unfit(format!(
                "cassandra.nodes must be of one data center, that of cassandra.consistency = \"local_quorum\"; they are of \
                 {:?}. List nodes of one of {:?} by the addresses that the cluster knows them by, or set \"quorum\"",
                self.named,
                self.count.keys()
            ))),
        }
    }
}

async fn make(session: &Session, statement: String) -> Result<(), CassandraRefused> {
    let refused = |error: String| CassandraRefused::unfit(format!("Cassandra refuses {statement:?}: {error}"));
    session.query_unpaged(statement.as_str(), &[]).await.map_err(|error| refused(error.to_string()))?;
    session.await_schema_agreement().await.map_err(|error| refused(error.to_string()))?;
    tracing::info!(event = "cassandra_schema", statement, "created in cassandra");
    Ok(())
}

/// Its replication, and whether its writes go to the commit log.
async fn find_keyspace(session: &Session, keyspace: &str) -> Result<Option<(Options, bool)>, ExecutionError> {
    let select = "SELECT replication, durable_writes FROM system_schema.keyspaces WHERE keyspace_name = ?";
    let found = session.query_unpaged(select, (keyspace,)).await?;
    Ok(found.into_rows_result().ok().and_then(|rows| rows.maybe_first_row().ok().flatten()))
}

async fn check_table(session: &Session, keyspace: &str, schema: Schema) -> Result<(), CassandraRefused> {
    let unreadable = |error: ExecutionError| CassandraRefused::unfit(format!("the schema cannot be read: {error}"));
    let mut found = find_columns(session, keyspace).await.map_err(unreadable)?;
    if found.is_empty() && schema == Schema::Make {
        make(session, table::creation(keyspace)).await?;
        found = find_columns(session, keyspace).await.map_err(unreadable)?;
    }
    if found.is_empty() {
        return Err(CassandraRefused::unfit(format!(
            "there is no table {keyspace}.{TABLE}; correct cassandra.keyspace, or start what writes to it first"
        )));
    }
    let mistakes = table::mistakes(keyspace, &found);
    if !mistakes.is_empty() {
        return Err(CassandraRefused::Unfit(mistakes));
    }
    if find_read_repair(session, keyspace).await.map_err(unreadable)?.is_some_and(|repair| repair != READ_REPAIR) {
        return Err(CassandraRefused::unfit(format!(
            "{keyspace}.{TABLE} has no blocking read repair, so a read may find a row that the next one does not; ALTER \
             TABLE {keyspace}.{TABLE} WITH read_repair = '{READ_REPAIR}'"
        )));
    }
    let grace = find_grace(session, keyspace).await.map_err(unreadable)?;
    if grace.is_some_and(|grace| grace < GC_GRACE_SECONDS) {
        tracing::warn!(
            event = "cassandra_gc_grace",
            gc_grace_seconds = grace,
            "{keyspace}.{TABLE} forgets deletes before {GC_GRACE_SECONDS} s: keep it longer than packs stay on the bus"
        );
    }
    Ok(())
}

async fn find_columns(session: &Session, keyspace: &str) -> Result<BTreeMap<String, Found>, ExecutionError> {
    let select = "SELECT column_name, type, kind, position FROM system_schema.columns WHERE keyspace_name = ? AND \
                  table_name = ?";
    let found = session.query_unpaged(select, (keyspace, TABLE)).await?;
    let Ok(rows) = found.into_rows_result() else { return Ok(BTreeMap::new()) };
    let Ok(rows) = rows.rows::<(String, String, String, i32)>() else { return Ok(BTreeMap::new()) };
    let column = |(name, r#type, kind, position)| (name, Found { r#type, kind, position });
    Ok(rows.filter_map(Result::ok).map(column).collect())
}

/// `None`: there is no such option. ScyllaDB always repairs what a read finds to differ before it answers.
async fn find_read_repair(session: &Session, keyspace: &str) -> Result<Option<String>, ExecutionError> {
    let select = "SELECT read_repair FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
    let found = match session.query_unpaged(select, (keyspace, TABLE)).await {
        Err(ExecutionError::LastAttemptError(RequestAttemptError::DbError(DbError::Invalid, _))) => return Ok(None),
        Err(ExecutionError::PrepareError(PrepareError::AllAttemptsFailed {
            first_attempt: RequestAttemptError::DbError(DbError::Invalid, _),
        })) => return Ok(None),
        found => found?,
    };
    let rows = found.into_rows_result().ok();
    Ok(rows.and_then(|rows| rows.maybe_first_row::<(String,)>().ok().flatten()).map(|(repair,)| repair))
}

async fn find_grace(session: &Session, keyspace: &str) -> Result<Option<i32>, ExecutionError> {
    let select = "SELECT gc_grace_seconds FROM system_schema.tables WHERE keyspace_name = ? AND table_name = ?";
    let found = session.query_unpaged(select, (keyspace, TABLE)).await?;
    let rows = found.into_rows_result().ok();
    Ok(rows.and_then(|rows| rows.maybe_first_row::<(i32,)>().ok().flatten()).map(|(grace,)| grace))
}
