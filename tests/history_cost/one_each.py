"""What an application would do without Heartline's jobs: a message for each beat, and a write for each message.

As a program it is that consumer: quixstreams reads the topic, and a sink writes with cassandra-driver.
"""

import argparse
import json
import logging
import time

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "one-each"
TABLE = "one_each"
COLUMNS = ("mid", "kind", "oid", "pos", "dur", "state", "session", "device", "watched", "at", "version")
SCHEMA = (
    f"CREATE TABLE {TABLE} (mid bigint, kind int, oid bigint, pos bigint, dur bigint, state tinyint, session bigint,"
    " device text, watched bigint, at bigint, version bigint, PRIMARY KEY (mid, kind, oid))"
    " WITH compaction = {'class': 'LeveledCompactionStrategy'}"
)
PARTITIONS = 8
# They are sent as fast as they can be. In their own time, 2,000 a second, so many would be in a batch of 5 ms.
BATCH_MESSAGES = 2
RETENTION_SECONDS = 90 * 86_400
WRITES_AT_ONCE = 100


class Beats:
    """The beats that led to these rows: the newest ends in the row, and each before is one heartbeat older."""

    def __init__(self, rows, heartbeat_ms):
        self._rows, self._heartbeat_ms = [dict(zip(COLUMNS, row)) for row in rows], heartbeat_ms
        self.count = sum(map(self._count, self._rows))

    def publish(self, broker):
        """In the order of their times; bytes of all messages before compression."""
        admin = AdminClient({"bootstrap.servers": broker})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        producer = Producer(
            {
                "bootstrap.servers": broker,
                "acks": "all",
                "enable.idempotence": True,
                "compression.type": "lz4",
                "batch.num.messages": BATCH_MESSAGES,
            }
        )
        published = 0
        for _, key, value in sorted(self._messages()):
            published += len(key) + len(value)
            while not self._put(producer, key, value):
                producer.poll(0.1)
        producer.flush()
        return published

    def _count(self, row):
        return round(row["watched"] / self._heartbeat_ms) + 1

    def _messages(self):
        for row in self._rows:
            for before in range(self._count(row)):
                ms = min(before * self._heartbeat_ms, row["watched"])
                beat = row | {"watched": row["watched"] - ms, "at": row["at"] - ms}
                # The beats of the load never come to the end of a content.
                beat |= {"pos": row["pos"] - ms, "version": row["version"] - ms * 1_000}
                yield beat["at"], str(row["mid"]).encode(), json.dumps(beat, separators=(",", ":")).encode()

    @staticmethod
    def _put(producer, key, value):
        try:
            producer.produce(TOPIC, value, key)
            return True
        except BufferError:
            return False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("broker")
    parser.add_argument("cassandra_port", type=int)
    parser.add_argument("state", help="a directory for quixstreams")
    args = parser.parse_args()
    # Imported here: the program that measures this one does not need it.
    from quixstreams import Application

    application = Application(
        args.broker, consumer_group=TOPIC, auto_offset_reset="earliest", state_dir=args.state, loglevel="ERROR"
    )
    beats = application.dataframe(application.topic(TOPIC, value_deserializer="json"))
    beats.sink(_sink(args.cassandra_port))
    application.run()


def _sink(port):
    from cassandra.cluster import Cluster
    from cassandra.concurrent import execute_concurrent_with_args
    from quixstreams.sinks import BatchingSink

    class CassandraSink(BatchingSink):
        def setup(self):
            self._session = Cluster(["127.0.0.1"], port).connect("heartline")
            columns, marks = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
            self._insert = self._session.prepare(
                f"INSERT INTO {TABLE} ({columns}) VALUES ({marks}) USING TIMESTAMP ? AND TTL ?"
            )

        def write(self, batch):
            now = time.time()
            rows = (
                [*map(item.value.get, COLUMNS), item.value["version"], _ttl(item.value["at"], now)] for item in batch
            )
            # The first that fails ends the program, and nothing of the batch is committed.
            execute_concurrent_with_args(self._session, self._insert, rows, concurrency=WRITES_AT_ONCE)

    logging.getLogger("cassandra").setLevel(logging.ERROR)
    return CassandraSink()


def _ttl(at, now):
    """Seconds, from the time of the beat."""
    return int(at / 1_000 + RETENTION_SECONDS - now)


if __name__ == "__main__":
    main()
