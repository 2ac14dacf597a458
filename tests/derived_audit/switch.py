"""Other definitions over the records that are there: 503 at first, and right from the first answer on."""

import json
import random
import threading
import time
from collections import Counter

from derived_audit.habits import beats_of_all
from derived_audit.records import read_records
from derived_audit.recount import RECOUNTED_SECONDS
from wire.kept import Kept

FIRST_RESTING = 1_000_000
RECORDS_A_USER = 10
WRITERS = 4
KEYS = 500
UNAVAILABLE = 503
NOT_FOUND = 404


class RestingUsers:
    """Users who have records and do nothing: what counts them by `mid` is known to the number, whatever others do."""

    def __init__(self, site, seed, records):
        self._site, self._seed = site, seed
        self.users = range(FIRST_RESTING, FIRST_RESTING + records // RECORDS_A_USER)
        self.records = []

    def come(self):
        writers = [threading.Thread(target=self._write, args=(n,)) for n in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.records = read_records(self._site, self.users)
        if len(self.records) != RECORDS_A_USER * len(self.users):
            raise RuntimeError(f"{len(self.records)} records of {len(self.users)} users are there")

    def _write(self, number):
        kept, dice = Kept(), random.Random(f"{self._seed} resting {number}")
        gateways = self._site.gateways
        for mid in self.users[number::WRITERS]:
            beats = beats_of_all(dice, int(time.time() * 1_000), RECORDS_A_USER)
            status, text = kept.ask(dice.choice(gateways).http, "POST", "/v1/beats", mid, {"items": beats, "device": "tv"})
            if status != 200 or json.loads(text)["rejected"]:
                raise RuntimeError(f"beats of {mid} are answered {status}: {text[:300]}")


class Reader:
    """Asks one gateway for counters while they are counted."""

    def __init__(self, gateway, seed, faults):
        self._gateway, self._faults, self._kept = gateway, faults, Kept()
        self._dice = random.Random(f"{seed} reader")
        # By counter, how often it could not be read.
        self.refused = {}
        self._kept_answers = Counter()

    def expect_gone(self, counter):
        status, text = self._ask(counter, [])
        self._expect(status == NOT_FOUND, f"{counter} is gone, and answered {status}: {text[:300]}")

    def read_kept(self, definition):
        """One that is as it was can be read meanwhile. A busy machine may not answer in time, now and then."""
        status, text = self._ask(definition.id, [["1"] * len(definition.key)])
        self._expect(status in (200, UNAVAILABLE), f"{definition.id} has not changed, and is answered {status}: {text[:300]}")
        self._kept_answers[definition.id, status == 200] += 1

    def expect_kept(self, definition):
        """It was not refused all the time."""
        refused, answered = (self._kept_answers[definition.id, holds] for holds in (False, True))
        self._expect(answered > 0, f"{definition.id} has not changed, and was refused {refused} times of {refused}")

    def wait_for(self, definitions, resting, meanwhile=lambda: None):
        """Until all of these have answered, which they must do rightly. `meanwhile` is done between two looks."""
        waiting, give_up = list(definitions), time.monotonic() + RECOUNTED_SECONDS
        self.refused = {definition.id: 0 for definition in waiting}
        while waiting and time.monotonic() < give_up and not self._faults:
            waiting = [definition for definition in waiting if not self._answers(definition, resting)]
            meanwhile()
            time.sleep(0.01)
        self._expect(not waiting, f"{[definition.id for definition in waiting]} are never answered")

    def _answers(self, definition, resting):
        """Those with a `mid` are compared; the others change all the time."""
        keys, expected = [["1"] * len(definition.key)], None
        if "mid" in definition.key:
            sums = definition.sums(resting.records)
            keys = [list(key) for key in self._dice.sample(sorted(sums), min(KEYS, len(sums)))]
            expected = [sums[tuple(key)] for key in keys]
        status, text = self._ask(definition.id, keys)
        if status == UNAVAILABLE:
            self.refused[definition.id] += 1
            return False
        self._expect(status == 200, f"{definition.id} is answered {status}: {text[:300]}")
        if status == 200 and expected is not None:
            self._compare(definition, expected, json.loads(text)["values"], keys)
        return True

    def _compare(self, definition, expected, values, keys):
        wrong = [pair for pair in zip(keys, values, expected, strict=True) if pair[1] != pair[2]]
        text = f"{definition.id} is wrong in its first answer, for {len(wrong)} of {len(keys)} keys, such as {wrong[:3]}"
        self._expect(not wrong, text)

    def _ask(self, counter, keys):
        body = {"keys": keys or [["1"]]}
        return self._kept.ask(self._gateway.control, "POST", f"/v1/counters/{counter}/get", body=body)

    def _expect(self, holds, text):
        if not holds:
            self._faults.append(("switch", text))
