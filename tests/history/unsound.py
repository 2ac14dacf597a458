"""A pack with one row that no gateway sends, among sound rows of other users: the row is put into quarantine, and costs them
nothing. Its user, whose row the history store then lacks, is listed again."""

from history.habits import wall_ms
from history.reckoning import Record, Row
from history.shards import region_of
from history.topic import QUARANTINE
from wire.patience import until

# Users who never came: only the pack has their rows.
NEIGHBOURS_FROM, NEIGHBOURS = 940_001, 3
CONTENT = 1, 7
BEYOND = 1 << 60  # a position
FORMAT, DEPLOYMENT = 1, "another-producer"


class UnsoundPack:
    """`stored`: what the table had of the victim, who has several rows."""

    def __init__(self, part, victim, stored):
        self._part, self._victim, self._region = part, victim, region_of(victim)
        self._bad, *rest = sorted(stored.rows.items(), key=lambda row: row[1].row.record is None)
        at = wall_ms() - 1_000
        self._sound = CONTENT, Row(Record(at, 7, 61_000, 600_000, 1, "tv", 5_000), 0), at * 1000 + 1
        mids = filter(lambda mid: region_of(mid) == self._region, range(NEIGHBOURS_FROM, NEIGHBOURS_FROM + 10_000))
        self._neighbours = [next(mids) for _ in range(NEIGHBOURS)]
        victim = _user(victim, [self._bad_row(), *(_row(content, row.row, row.version) for content, row in rest)])
        users = [_user(mid, [_row(*self._sound)]) for mid in self._neighbours]
        self._message = _pack(self._region, [*users[:1], victim, *users[1:]])

    def put(self):
        scene = self._part.scene
        self._place = scene.topic.put(str(self._region).encode(), self._message)
        content, row, _ = self._sound
        table = until("the neighbours are in the table", self._neighbours_written)
        found = {mid: {content: stored.row for content, stored in user.rows.items()} for mid, user in table.items()}
        expected = dict.fromkeys(self._neighbours, {content: row})
        self._part.expect(found == expected, "unsound", f"the neighbours have {found}, not {expected}")

    def judge(self):
        """Once its user is listed again."""
        found = [
            (message.value, dict(message.headers).get("reason", b"").decode())
            for message in until("the quarantine", lambda: list(self._part.scene.topic.messages(QUARANTINE)))
            if self._place == _place(message)
        ]
        alone = _pack(self._region, [_user(self._victim, [self._bad_row()])])
        reason = f"user {self._victim}: row 1: pos is {BEYOND}"
        holds = len(found) == 1 and found[0][0] == alone and found[0][1].startswith(reason)
        self._part.expect(holds, "unsound", f"in quarantine is {found}, not the row alone: {reason}")
        print(f"unsound: {NEIGHBOURS} neighbours are written, in quarantine: {found[0][1] if found else None}", flush=True)

    def _neighbours_written(self):
        users = self._part.scene.table.users(self._neighbours)
        return users if all(user.rows for user in users.values()) else None

    def _bad_row(self):
        content, stored = self._bad
        return _row(content, stored.row._replace(record=stored.row.record._replace(pos=BEYOND)), stored.version)


def _place(message):
    headers = {name: value.decode() for name, value in message.headers}
    return int(headers["source_partition"]), int(headers["source_offset"])


# The format is in src/storage/history_bus/wire.rs. A field that is 0 or empty is left out, but for those of a content.


def _pack(region, users):
    head = _number(1, FORMAT) + _bytes(2, DEPLOYMENT.encode()) + _number(3, region)
    return head + b"".join(_bytes(4, user) for user in users)


def _user(mid, rows):
    return _number(1, mid) + b"".join(_bytes(3, row) for row in rows)


def _row(content, row, version):
    kind, oid = content
    named = _bytes(1, b"\x08" + _varint(kind) + b"\x10" + _varint(oid))
    record = _bytes(2, _record(row.record)) if row.record else b""
    return named + record + _number(3, row.tombstone) + _number(4, version)


def _record(record):
    session = _varint(4 << 3 | 1) + record.session.to_bytes(8, "little") if record.session else b""
    device = _bytes(5, record.device.encode()) if record.device else b""
    before = _number(1, record.pos) + _number(2, record.dur) + _number(3, record.state)
    return before + session + device + _number(6, record.watched) + _number(7, record.at)


def _number(tag, number):
    return _varint(tag << 3) + _varint(number) if number else b""


def _bytes(tag, content):
    return _varint(tag << 3 | 2) + _varint(len(content)) + content


def _varint(number):
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
