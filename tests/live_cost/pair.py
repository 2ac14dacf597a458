"""Two gateways on embedded stores, under the same load at the same time.

The speed of a machine that others use, too, changes by more than what is measured here, so that turns would not do.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from wire import load
from wire.gateway import Gateway

WARM_UP, SECONDS = 10, 30


class Pair:
    def __init__(self, binaries, scratch):
        self._loadgen_beside = binaries[0]
        self.gateways = [
            Gateway(binary, scratch / f"data-{number}", scratch / f"{number}.log", LIVE__WIDGET="true")
            for number, binary in enumerate(binaries)
        ]
        self._stack = ExitStack()

    def __enter__(self):
        for gateway in self.gateways:
            self._stack.callback(gateway.kill)
            gateway.start()
        return self

    def __exit__(self, *error):
        self._stack.close()

    def reports(self, rate):
        """What loadgen says of each."""

        def measured(gateway):
            pids = [("gateway", gateway.process.pid)]
            return load.run(self._loadgen_beside, [gateway.ws], pids, rate, WARM_UP, SECONDS)

        with ThreadPoolExecutor() as pool:
            return list(pool.map(measured, self.gateways))
