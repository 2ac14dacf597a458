"""What a run has started, in a directory of its own."""

import shutil
import tempfile
from pathlib import Path


class Started:
    """Within a `with`: what `_start` starts in `scratch`. It puts what ends each part into `_ends`."""

    prefix = "heartline-balance-"

    def __enter__(self):
        self.scratch = Path(tempfile.mkdtemp(prefix=self.prefix))
        self._ends = [lambda: shutil.rmtree(self.scratch)]
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for end in reversed(self._ends):
            end()
