"""The table as it is in Cassandra, read by a driver that is not the gateway's."""

from collections import namedtuple
from contextlib import contextmanager
from dataclasses import dataclass, field

from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.concurrent import execute_concurrent_with_args
from cassandra.policies import RoundRobinPolicy
from cassandra.query import tuple_factory

from history.reckoning import Record, Row
from wire.patience import PATIENCE_SECONDS

COLUMNS = (
    "mid, kind, oid, watermark, floor, switches, pos, dur, state, session, device, watched, at, tombstone, version,"
    " writetime(version), ttl(version)"
)
USERS_AT_ONCE = 50

# Of a row: what it says itself, and what Cassandra knows of it.
Stored = namedtuple("Stored", "row version written ttl")


@dataclass
class StoredUser:
    watermark: int = 0
    floor: int = 0
    switches: list = field(default_factory=list)
    rows: dict = field(default_factory=dict)  # (kind, oid) -> Stored


class Table:
    """Each read has a connection of its own: the driver gives up a node that was away for long."""

    def __init__(self, port, keyspace):
        self._port, self._keyspace = port, keyspace

    def users(self, mids):
        """All that is there of them, by id; raw, as any reader would find it."""
        asked = [(_signed(mid),) for mid in mids]
        with self.session() as session:
            of_user = session.prepare(f"SELECT {COLUMNS} FROM history WHERE mid = ?")
            answers = execute_concurrent_with_args(session, of_user, asked, concurrency=USERS_AT_ONCE)
            return {mid: _user(answer.result_or_exc) for mid, answer in zip(mids, answers)}

    def everybody(self):
        """The ids of all users who are there."""
        with self.session() as session:
            return {_unsigned(mid) for (mid,) in session.execute("SELECT DISTINCT mid FROM history")}

    def truncate(self):
        with self.session() as session:
            session.execute("TRUNCATE history")

    @contextmanager
    def session(self):
        profile = ExecutionProfile(
            load_balancing_policy=RoundRobinPolicy(), request_timeout=PATIENCE_SECONDS, row_factory=tuple_factory
        )
        profiles = {EXEC_PROFILE_DEFAULT: profile}
        cluster = Cluster(["127.0.0.1"], self._port, execution_profiles=profiles, connect_timeout=PATIENCE_SECONDS)
        try:
            yield cluster.connect(self._keyspace)
        finally:
            cluster.shutdown()


def _user(rows):
    user = StoredUser()
    for _, kind, oid, watermark, floor, switches, *content in rows:
        user.watermark, user.floor = watermark or 0, floor or 0
        user.switches = [tuple(switch) for switch in switches or ()]
        if kind is not None:
            user.rows[kind, _unsigned(oid)] = _stored(*content)
    return user


def _stored(pos, dur, state, session, device, watched, at, tombstone, version, written, ttl):
    record = None if at is None else Record(at, _unsigned(session), pos, dur, state, device, watched)
    return Stored(Row(record, tombstone or 0), version, written, ttl)


def _signed(number):
    return number - 2**64 if number >= 2**63 else number


def _unsigned(number):
    return number % 2**64
