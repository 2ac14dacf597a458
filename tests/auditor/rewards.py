"""I5 and I6: joins what users must have and were told with the events there are and with what the gateway lists.

A claim is what an event tells. Its id says of what there may be only one, so a second claim of it is an event of the
same id that tells of another moment, session or beat; the same event once more is a delivery that was repeated.
"""

import datetime
import time
from concurrent.futures import ThreadPoolExecutor

from auditor.rules import AHEAD_MS, CONTENT_RULE, FRESH_MS, USER_RULE, ZONE, day_of, id_of
from wire.http import call
from wire.metrics import metric
from wire.patience import PATIENCE_SECONDS

LOOK_SECONDS = 0.05
ASKING_AT_ONCE = 16
RULES = {USER_RULE, CONTENT_RULE}


def outbox_entries(gateway):
    """Claims whose events are still to be published."""
    return int(metric(gateway, "heartline_outbox_entries"))


class Rewards:
    """`others`: users from this id on belong to another load; their events are judged by themselves alone.
    `unpublished`: how many claims of a gateway, or of all that share a store, still wait for their events."""

    def __init__(self, log, faults, others=None, unpublished=outbox_entries):
        self._log, self._faults, self._unpublished = log, faults, unpublished
        self._others = others or float("inf")
        self.claims = {}  # id -> the event
        self._of_user = {}  # mid -> ids
        self.repeated = 0  # events that came once more

    def judge(self, gateway, all_ledgers, asked=()):
        """While none of our users play. `all_ledgers` by user; `asked`: those whose rewards of today are looked at.

        Events follow their claims until no claim waits for its event any more. What is not there then never comes."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            over = self._is_over(gateway, give_up)
            self._catch_up(gateway, all_ledgers)
            missing = [(ledger, id) for ledger in all_ledgers.values() for id in self._missing(ledger)]
            if not missing or over:
                break
            time.sleep(LOOK_SECONDS)
        self._judge_today(gateway, all_ledgers, asked, give_up)
        for ledger, id in missing:
            ledger.fault("I5", f"the event {id} is not there")
            ledger.rewards.due.discard(id)
            ledger.rewards.told.discard(id)

    def _is_over(self, gateway, give_up):
        """Whether nothing is to be waited for any more. To be asked before the log is read: then all is in it."""
        return not self._unpublished(gateway) or time.monotonic() > give_up

    def _catch_up(self, gateway, ledgers):
        self._log.catch_up(gateway)
        for event in self._log.take():
            self._event(event, ledgers)

    def claims_of(self, rule, from_mid):
        """How many claims of a rule users from this id on have."""
        of = (event["data"] for event in self.claims.values())
        return sum(data["rule"] == rule and int(data["mid"]) >= from_mid for data in of)

    def _missing(self, ledger):
        # Not as a difference of sets: that goes through all claims, for each user.
        return [id for id in ledger.rewards.due | ledger.rewards.told if id not in self.claims]

    def _event(self, event, ledgers):
        known = self.claims.setdefault(event["id"], event)
        if known is not event:
            self.repeated += 1
            if known != event:
                self._fault("I5", f"{event['id']} was claimed twice: {known} and {event}")
            return
        if complaint := _malformed(event):
            return self._fault("events", f"{complaint}: {event}")
        mid = int(event["subject"])
        self._of_user.setdefault(mid, set()).add(event["id"])
        if mid < self._others:
            ledger = ledgers.get(mid)
            if ledger is None or not _was_sent(event["data"], ledger):
                self._fault("I5", f"no beat was sent that could have claimed {event}")

    def _judge_today(self, gateway, all_ledgers, asked, give_up):
        """What the gateway lists must be what there are events of; an event may follow, a listing may not."""
        asked = list(asked)
        with ThreadPoolExecutor(ASKING_AT_ONCE) as pool:
            while asked:
                over, ahead = self._is_over(gateway, give_up), []
                self._catch_up(gateway, all_ledgers)
                for ledger, (listed, published) in zip(asked, pool.map(lambda one: self._today(gateway, one), asked)):
                    if listed > published and not over:
                        ahead.append(ledger)
                    elif listed != published:
                        ledger.fault("I5", f"events of {published - listed}, listed today {listed - published}")
                if asked := ahead:
                    time.sleep(LOOK_SECONDS)

    def _today(self, gateway, ledger):
        """The ids of what is listed, and of what there are events of."""
        give_up = time.monotonic() + PATIENCE_SECONDS
        while (answer := call(gateway.http, "GET", "/v1/rewards/today", mid=ledger.mid)).status == 503:
            if time.monotonic() > give_up:
                raise RuntimeError(f"the rewards of user {ledger.mid} cannot be asked for: {answer.text}")
            time.sleep(float(answer.headers["Retry-After"]))
        today = answer.json()
        listed = {reward["id"] for reward in today["rewards"]}
        return listed, {id for id in self._of_user.get(ledger.mid, ()) if self.claims[id]["data"]["day"] == today["day"]}

    def _fault(self, promise, text):
        self._faults.append((promise, text))


def held(gateway):
    """Beats that waited for later ones of their session in this process."""
    return int(metric(gateway, "heartline_beats_held_total"))


def published(gateway):
    """Events that this process has published."""
    return int(metric(gateway, "heartline_events_published_total"))


def _malformed(event):
    """What is wrong with an event by itself."""
    data = event["data"]
    content = (data["kind"], data["oid"]) if data["rule"] == CONTENT_RULE else None
    time = datetime.datetime.fromisoformat(event["time"])
    checks = {
        "its rule": data["rule"] in RULES,
        "its id": event["id"] == id_of(data["rule"], data["day"], data["mid"], content),
        "its day": data["day"] == day_of(data["claimed_at"]) and data["zone"] == ZONE,
        "its time": round(time.timestamp() * 1000) == data["claimed_at"],
        "its subject": event["subject"] == event["partitionkey"] == data["mid"],
        "its type": (event["specversion"], event["type"]) == ("1.0", "dev.heartline.reward.v1"),
    }
    return next((what for what, holds in checks.items() if not holds), None)


def _was_sent(data, ledger):
    """Whether the user has sent a beat of which all this is true, and which was young enough."""
    sent = ledger.content((data["kind"], int(data["oid"]))).sent
    at_once = range(data["claimed_at"] - FRESH_MS, data["claimed_at"] + AHEAD_MS + 1)
    return any(
        at in at_once
        and session == int(data["session"])
        and (beat.fields.watched, beat.fields.device) == (data["watched"], data["device"])
        and not ledger.pauses.certain(at, beat.moment)
        for (at, session), beat in sent.items()
    )
