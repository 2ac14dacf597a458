"""The topic as a consumer sees it that shares no code with the gateway's producer: read on, and once more from the start.

CloudEvents in Kafka's binary mode: attributes are headers with the prefix `ce_`, the value is the data.
"""

import json

from kafka import KafkaConsumer, TopicPartition

from wire.patience import PATIENCE_SECONDS

NAME = "heartline.rewards"
POLL_MS = 200
SILENT_POLLS_MAX = PATIENCE_SECONDS * 1000 // POLL_MS


class Topic:
    """All that was ever read, by partition and offset. `broker`: what knows its address."""

    def __init__(self, faults, broker):
        self._faults, self._broker = faults, broker
        self.entries = {}
        self._next = {}  # by partition
        self._untaken = []

    def catch_up(self, _=None):
        """Reads what there is beyond what was read."""
        for (partition, offset), event in self._read(self._next):
            self._next[partition] = offset + 1
            self.entries[partition, offset] = event
            self._untaken.append(event)

    def take(self):
        """The events that were read since the last time."""
        new, self._untaken = self._untaken, []
        return new

    def replay(self, _=None):
        """Reads all once more from the start: it must be what was read before."""
        again = dict(self._read({}))
        if again != self.entries:
            gone = len(self.entries.keys() - again.keys())
            self._fault(f"a replay has {len(again)} events, {len(self.entries)} were read, {gone} of them are gone")

    def _read(self, begin):
        """What is there now, from these offsets on."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._broker.address,
            bootstrap_timeout_ms=PATIENCE_SECONDS * 1000,
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        try:
            numbers = consumer.partitions_for_topic(NAME) or ()
            partitions = [TopicPartition(NAME, number) for number in numbers]
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions)
            for partition in partitions:
                consumer.seek(partition, begin.get(partition.partition, 0))
            silent = 0
            while any(consumer.position(partition) < ends[partition] for partition in partitions):
                records = [record for some in consumer.poll(POLL_MS).values() for record in some]
                silent = 0 if records else silent + 1
                if silent > SILENT_POLLS_MAX:
                    raise RuntimeError(f"{NAME} is not read to its end: {ends}")
                for record in records:
                    yield (record.partition, record.offset), self._event(record)
        finally:
            consumer.close()

    def _event(self, record):
        headers = {name: value.decode() for name, value in record.headers}
        event = {name.removeprefix("ce_"): value for name, value in headers.items() if name.startswith("ce_")}
        if headers.get("content-type") != "application/json":
            self._fault(f"the content-type of {event} is {headers.get('content-type')}")
        if record.key is None or record.key.decode() != event.get("partitionkey"):
            self._fault(f"the key of {event} is {record.key}")
        return {**event, "data": json.loads(record.value)}

    def _fault(self, text):
        self._faults.append(("events", text))
