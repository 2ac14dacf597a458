"""The topic of packs, seen by a Kafka client that is not the gateway's."""

from collections import Counter
from pathlib import Path

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from wire.patience import PATIENCE_SECONDS

PACKS = "heartline.history"
QUARANTINE = "heartline.history.quarantine"
DEPLOYMENT = "history-test"
GROUP = f"heartline-history-{DEPLOYMENT}"
POLL_MS = 500
SILENT_POLLS_MAX = 2 * PATIENCE_SECONDS


class Topic:
    def __init__(self, broker):
        self._broker = broker

    def lag(self, name=PACKS, group=GROUP):
        """Messages that the group has not committed."""
        consumer = self._consumer(group)
        try:
            ends = consumer.end_offsets(self._partitions(consumer, name))
            return sum(end - (consumer.committed(partition) or 0) for partition, end in ends.items())
        finally:
            consumer.close()

    def messages(self, name=PACKS):
        """All that are there."""
        consumer = self._consumer(None)
        try:
            partitions = self._partitions(consumer, name)
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            consumer.seek_to_beginning(*partitions)
            silent = 0
            while any(consumer.position(partition) < ends[partition] for partition in partitions):
                records = [record for some in consumer.poll(POLL_MS).values() for record in some]
                silent = 0 if records else silent + 1
                if silent > SILENT_POLLS_MAX:
                    raise RuntimeError(f"{name} is not read to its end: {ends}")
                yield from records
        finally:
            consumer.close()

    def put(self, key, value, partition=None):
        """Publishes a message of another producer, and returns its place."""
        producer = KafkaProducer(bootstrap_servers=self._broker.address, acks="all")
        try:
            put = producer.send(PACKS, key=key, value=value, partition=partition).get(PATIENCE_SECONDS)
            return put.partition, put.offset
        finally:
            producer.close()

    def delete(self, name):
        admin = KafkaAdminClient(bootstrap_servers=self._broker.address)
        try:
            admin.delete_topics([name])
        finally:
            admin.close()

    def bytes_on_disk(self, name=PACKS):
        """As they are compressed."""
        return sum(file.stat().st_size for file in Path(self._broker.data).glob(f"{name}-[0-9]*/*.log"))

    def _consumer(self, group):
        return KafkaConsumer(
            bootstrap_servers=self._broker.address,
            bootstrap_timeout_ms=PATIENCE_SECONDS * 1000,
            group_id=group,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )

    @staticmethod
    def _partitions(consumer, name):
        return [TopicPartition(name, number) for number in consumer.partitions_for_topic(name) or ()]


def by_region(messages):
    """How many of each key."""
    return Counter(message.key for message in messages)
