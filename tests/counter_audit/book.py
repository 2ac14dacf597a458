"""What was asked and answered of each key, and what its value and its events must be therefore."""

import threading
from collections import Counter, defaultdict

# Each key is of one of these.
LIKES, VISITS, STOCK = "likes", "visits", "stock"
# So many that most steps upwards cross some.
THRESHOLDS = {LIKES: list(range(-50, 50, 5)), VISITS: list(range(1, 101)), STOCK: []}
STOCK_AT_FIRST = 150
COUNTERS = ", ".join(
    [
        f'{{ id = "{LIKES}", key = ["kind", "oid"], thresholds = {THRESHOLDS[LIKES]} }}',
        f'{{ id = "{VISITS}", key = ["page"], thresholds = {THRESHOLDS[VISITS]} }}',
        f'{{ id = "{STOCK}", key = ["item"], min = 0, initial = {STOCK_AT_FIRST} }}',
    ]
)


class Book:
    """Requests to `likes` and `stock` have an id, and all are answered in the end. Those to `visits` have none: one that
    got no answer may count, or not."""

    def __init__(self):
        self._lock = threading.Lock()
        # By counter and key: (by, value) of each request that was done.
        self._done = defaultdict(list)
        self._refused, self._lost = Counter(), Counter()
        self._keys = defaultdict(set)
        self._answered = self._repeats = 0

    def asks(self, counter, key):
        with self._lock:
            self._keys[counter].add(key)

    def done(self, counter, key, by, value, attempts):
        with self._lock:
            self._done[counter, key].append((by, value))
            self._answered += 1
            self._repeats += attempts > 1

    def refused(self, counter, key):
        with self._lock:
            self._refused[counter, key] += 1
            self._answered += 1

    def lost(self, counter, key):
        """It has no id, and is not repeated."""
        with self._lock:
            self._lost[counter, key] += 1

    def answered(self):
        with self._lock:
            return self._answered

    def repeats(self):
        with self._lock:
            return self._repeats

    def unanswered(self):
        with self._lock:
            return self._lost.total()

    def keys(self):
        with self._lock:
            return {counter: sorted(keys) for counter, keys in self._keys.items()}

    def steps(self, counter, key):
        return self._done[counter, key]

    def lost_of(self, counter, key):
        return self._lost[counter, key]

    def refused_of(self, counter, key):
        return self._refused[counter, key]


def judge(book, values, events):
    """The faults. `values`: by counter and key. `events`: by id."""
    faults, expected = [], set()
    for counter, keys in book.keys().items():
        for key in keys:
            value, steps = values[counter][key], book.steps(counter, key)
            if counter == VISITS:
                faults += _judge_visits(book, key, value, steps)
                crossed = [(threshold, 1) for threshold in THRESHOLDS[VISITS] if threshold <= value]
            else:
                first = STOCK_AT_FIRST if counter == STOCK else 0
                if value != first + sum(by for by, _ in steps):
                    faults.append((counter, f"{key} is {value}, its {len(steps)} steps are {steps[-20:]}"))
                if counter == STOCK:
                    faults += _judge_stock(book, key, value, steps)
                crossed = _crossings(counter, steps)
            expected |= {":".join([counter, *key, str(threshold), str(n)]) for threshold, n in crossed}
    missing, unknown = expected - events.keys(), events.keys() - expected
    if missing or unknown:
        text = f"{len(missing)} crossings of {len(expected)} have no event, such as {sorted(missing)[:3]}; {len(unknown)} "
        faults.append(("events", f"{text}events have no crossing, such as {sorted(unknown)[:3]}"))
    if not expected:
        faults.append(("load", "no threshold was crossed"))
    return faults + _judge_values(book, events)


def _judge_visits(book, key, value, steps):
    """Each request adds one, and has no id."""
    least, most = len(steps), len(steps) + book.lost_of(VISITS, key)
    told = [value for _, value in steps]
    if least <= value <= most and len(set(told)) == len(told):
        return []
    return [(VISITS, f"{key} is {value}, {least} requests were answered and {most} sent")]


def _judge_stock(book, key, value, steps):
    """Each request takes one of what is there."""
    sold, asked = len(steps), len(steps) + book.refused_of(STOCK, key)
    told = sorted(value for _, value in steps)
    if sold == min(asked, STOCK_AT_FIRST) and told == list(range(value, STOCK_AT_FIRST)):
        return []
    return [(STOCK, f"{key} is {value}: {sold} of {asked} requests were done, with {told[:10]}")]


def _crossings(counter, steps):
    """Each threshold that was crossed, with 1 up to how often."""
    counts = Counter()
    for by, value in steps:
        counts.update(threshold for threshold in THRESHOLDS[counter] if value - by < threshold <= value)
    return [(threshold, n) for threshold, count in counts.items() for n in range(1, count + 1)]


def _judge_values(book, events):
    """Events of one threshold tell the values of the steps that have crossed it, each once."""
    faults, told = [], defaultdict(Counter)
    for event in events.values():
        data = event["data"]
        told[data["counter"], tuple(data["key"]), data["threshold"]][data["value"]] += 1
    for (counter, key, threshold), values in told.items():
        if counter == LIKES:
            crossing = Counter(value for by, value in book.steps(counter, key) if value - by < threshold <= value)
            if values != crossing:
                faults.append(("events", f"{counter} {key} crossed {threshold} with {crossing}, events tell {values}"))
    return faults

