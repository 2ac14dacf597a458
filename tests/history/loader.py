"""One process that plays users, as a crowd commands it by a pipe. It keeps what it knows of them."""

import asyncio
import itertools
import random

from history.habits import User
from history.viewer import Figures, Viewer
from wire.patience import LOOK_EVERY_SECONDS

AT_ONCE = 150  # users of one loader
PACE_SECONDS = 0.5  # between two frames of a paced user
# Between two visits of a user: without it what was killed would start on processors that are busy with the load.
REST_SECONDS = (1.0, 3.0)


class Loader:
    def __init__(self, pipe, acked, stop, seed):
        """`acked`: a counter for others to see. `stop`: ends what goes on until then."""
        self._pipe, self._acked, self._stop, self._seed = pipe, acked, stop, seed
        self._users = {}
        self._turns = itertools.count()

    def serve(self):
        while command := self._pipe.recv():
            name, *arguments = command
            self._pipe.send(getattr(self, name)(*arguments))

    def known(self, mids):
        return {mid: self._users[mid].reckoning.known for mid in mids if mid in self._users}

    def visit(self, mids, places, plan):
        """Each user once; so many at a time."""
        return asyncio.run(self._with_figures(self._visit_all, mids, places, plan))

    def play(self, mids, places, plan):
        """Visit after visit, until told to stop."""
        return asyncio.run(self._with_figures(self._play_all, mids, places, plan))

    def pace(self, mids, places, beats, total):
        """Frames of so many beats in a fixed rhythm, until there were so many beats."""
        return asyncio.run(self._with_figures(self._pace_all, mids, places, beats, total))

    async def _with_figures(self, work, *arguments):
        figures = Figures()
        await work(figures, *arguments)
        return figures

    async def _visit_all(self, figures, mids, places, plan):
        waiting = iter(mids)

        async def visits():
            for mid in waiting:
                await self._one_visit(figures, mid, places, plan)

        await asyncio.gather(*(visits() for _ in range(AT_ONCE)))

    async def _play_all(self, figures, mids, places, plan):
        async def visits(mid):
            while not self._stop.is_set():
                await self._one_visit(figures, mid, places, plan)
                await asyncio.sleep(random.uniform(*REST_SECONDS))

        await asyncio.gather(*map(visits, mids))

    async def _one_visit(self, figures, mid, places, plan):
        user = self._user(mid)
        viewer = Viewer(user, places, figures, next(self._turns))
        for device, step in user.visit(*plan):
            await viewer.take(device, step)
            self._count(step)
        await viewer.leave()

    async def _pace_all(self, figures, mids, places, beats, total):
        left = itertools.count(total, -beats)

        async def frames(place, mid):
            user = self._user(mid)
            viewer = Viewer(user, places, figures, place)
            await asyncio.sleep(PACE_SECONDS * place / len(mids))
            began, number = asyncio.get_running_loop().time(), 0
            while next(left) > 0:
                step = user.beats(beats, "tv-0")
                await viewer.take("tv-0", step)
                self._count(step)
                number += 1
                late = began + number * PACE_SECONDS - asyncio.get_running_loop().time()
                await asyncio.sleep(max(late, LOOK_EVERY_SECONDS))
            await viewer.leave()

        await asyncio.gather(*(frames(place, mid) for place, mid in enumerate(mids)))

    def _user(self, mid):
        return self._users.setdefault(mid, User(mid, self._seed))

    def _count(self, step):
        if step.name == "beats":
            with self._acked.get_lock():
                self._acked.value += len(step.body["items"])


def run(*arguments):
    Loader(*arguments).serve()
