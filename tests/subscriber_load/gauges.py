"""What the processes say and use while a phase runs: the bus's lag, and processor time."""

import re
import threading

from wire.metrics import metrics
from wire.processes import cpu_seconds

LOOK_EVERY_SECONDS = 0.2
_LAG = re.compile(r'^heartline_cascade_lag\{topic="rewards"\} (\d+)$', re.M)
_LOOKED_AT = re.compile(r"^heartline_cascade_events_total (\d+)$", re.M)


class Gauges(threading.Thread):
    """`answered`: how many events were earned up to now."""

    def __init__(self, site, answered):
        super().__init__(daemon=True)
        self._site, self._answered, self._ends = site, answered, threading.Event()
        self._processes = {process.process.pid for process in (*site.gateways, *site.workers)}
        self._used = self._cpu_seconds()
        self._lags = []

    def run(self):
        while not self._ends.wait(LOOK_EVERY_SECONDS):
            self._lags.append(self._lag())

    def lags(self):
        """Up to now."""
        return list(self._lags)

    def end(self):
        """Seconds of processor time since the begin."""
        self._ends.set()
        self.join()
        return self._cpu_seconds() - self._used

    def _cpu_seconds(self):
        return sum(map(cpu_seconds, self._processes))

    def _lag(self):
        """The gauge is set after each batch. One that takes long shows in what was answered and not looked at."""
        answered = self._answered()
        lag, looked_at = bus_lag(self._site)
        return max(lag, answered - looked_at)


def bus_lag(site):
    """Events that the cascade has not looked at, as its processes say, and those that it has."""
    texts = [metrics(worker) for worker in site.workers]
    return tuple(sum(int(count) for text in texts for count in gauge.findall(text)) for gauge in (_LAG, _LOOKED_AT))
