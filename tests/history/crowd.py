"""All loaders together."""

import multiprocessing

from history import loader
from history.viewer import Figures
from wire.patience import until

# A process with threads, of a driver for example, must not be forked.
_processes = multiprocessing.get_context("spawn")


class Crowd:
    def __init__(self, loaders, seed):
        self._acked = _processes.Value("q", 0)
        self._stop = _processes.Event()
        self._loaders = []
        for _ in range(loaders):
            ours, theirs = _processes.Pipe()
            process = _processes.Process(target=loader.run, args=(theirs, self._acked, self._stop, seed), daemon=True)
            process.start()
            theirs.close()
            self._loaders.append((ours, process))

    def visit(self, mids, places, plan):
        """Each user once; what was counted."""
        self._tell("visit", mids, places, plan)
        return self.figures()

    def play(self, mids, places, plan):
        """Begins; `stop` ends it."""
        self._stop.clear()
        self._tell("play", mids, places, plan)

    def stop(self):
        self._stop.set()
        return self.figures()

    def pace(self, mids, places, beats, total):
        """Begins; `figures` waits for its end."""
        self._tell("pace", mids, places, beats, total // len(self._loaders))

    def known(self, mids):
        self._tell("known", mids)
        return {mid: known for part in self._answers() for mid, known in part.items()}

    def figures(self):
        figures = Figures()
        for part in self._answers():
            figures.add(part)
        return figures

    @property
    def acked(self):
        """Beats so far."""
        return self._acked.value

    def wait_for_acks(self, count):
        """Until so many more beats are acked than now."""
        enough = self.acked + count
        until(f"{count} more acks", lambda: self.acked >= enough or self._has_ended())

    def end(self):
        for pipe, process in self._loaders:
            process.kill()
            process.join()
            pipe.close()

    def _tell(self, name, mids, *arguments):
        """A user is always played by the same loader."""
        count = len(self._loaders)
        for number, (pipe, _) in enumerate(self._loaders):
            pipe.send((name, [mid for mid in mids if mid % count == number], *arguments))

    def _answers(self):
        return [pipe.recv() for pipe, _ in self._loaders]

    def _has_ended(self):
        return not all(process.is_alive() for _, process in self._loaders)
