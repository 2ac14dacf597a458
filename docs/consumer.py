#!/usr/bin/env python3
"""Credits points for rewards: an example of a consumer of Heartline's event log.

    consumer.py                        follow http://127.0.0.1:7702/v1/events, keep the points in points.db
    consumer.py --once                 take what is there, and end
    consumer.py --replay               read the log from its start again; the points stay right
    consumer.py --token-file FILE      the control token, where it is not heartline-data/control-token

It needs Python 3.8 and nothing else. What makes it right is one transaction for each page of events:

- An event is credited under its id, the primary key. Whatever has the same id is the same claim: published twice, read
  twice or replayed, it is credited once.
- The offset to go on from is written in the same transaction. Killed at any moment, the consumer has both or neither,
  and goes on where it was. Losing the offset alone would cost time, not points.
- The id of the log is kept beside the offset. When that id changes (the folder was removed, or restored from a
  backup), its offsets mean other events: the consumer starts over.
"""

import argparse
import http.client
import json
import os
import sqlite3
import sys
import time
import urllib.error
import urllib.request

# What a claim is worth, by its rule. Claims of other rules are kept, and worth nothing.
POINTS = {"first-of-day": 10, "first-view": 2}

REWARD = "dev.heartline.reward.v1"
PAGE = 1000
WAIT_MS = 25_000
RETRY_SECONDS = (0.1, 0.2, 0.5, 1, 2, 5)

SCHEMA = """
CREATE TABLE IF NOT EXISTS credit (
    id     TEXT PRIMARY KEY,  -- of the event
    mid    TEXT NOT NULL,     -- the user: 64 bits, more than SQLite's integers have
    points INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS credit_of_user ON credit (mid, points);
CREATE TABLE IF NOT EXISTS place (
    only  INTEGER PRIMARY KEY CHECK (only = 1),
    after INTEGER NOT NULL,   -- everything up to this offset is credited
    log   TEXT                -- the id of the log that the offset is of; NULL = not known yet
);
INSERT OR IGNORE INTO place (only, after) VALUES (1, 0);
"""


class Ledger:
    """The points of each user, and the offset up to which the log has been read."""

    def __init__(self, path):
        # Transactions begin where it is said, not where the module would begin them.
        self.database = sqlite3.connect(path, isolation_level=None, timeout=30)
        self.database.executescript(SCHEMA)
        if "log" not in [column[1] for column in self.database.execute("PRAGMA table_info(place)")]:
            self.database.execute("ALTER TABLE place ADD COLUMN log TEXT")

    def place(self):
        """The offset to go on from, and the id of the log that it is of."""
        return self.database.execute("SELECT after, log FROM place").fetchone()

    def forget_place(self, log=None):
        self.database.execute("UPDATE place SET after = 0, log = ?", (log,))

    def take(self, events, after, log):
        """Credits what is new of them, in one transaction with the place. Returns (mid, points, id) of what was new."""
        new = []
        self.database.execute("BEGIN IMMEDIATE")
        try:
            for event in events:
                if event["type"] != REWARD:
                    continue
                data = event["data"]
                credit = (event["id"], data["mid"], POINTS.get(data["rule"], 0))
                if self.database.execute("INSERT OR IGNORE INTO credit VALUES (?, ?, ?)", credit).rowcount:
                    new.append((credit[1], credit[2], credit[0]))
            self.database.execute("UPDATE place SET after = ?, log = ?", (after, log))
            self.database.execute("COMMIT")
        except BaseException:
            self.database.execute("ROLLBACK")
            raise
        return new

    def points(self, mid):
        return self.database.execute("SELECT TOTAL(points) FROM credit WHERE mid = ?", (mid,)).fetchone()[0]

    def everybody(self):
        return self.database.execute("SELECT mid, SUM(points) FROM credit GROUP BY mid ORDER BY SUM(points) DESC, mid")


class Log:
    """The event log, page by page."""

    def __init__(self, url, token_file):
        self.url = url.rstrip("/")
        self.token_file = token_file

    def request(self, path):
        """With the control token, read anew each time: a gateway makes its token when it first starts."""
        headers = {}
        if os.path.exists(self.token_file):
            with open(self.token_file, encoding="ascii") as file:
                headers["Authorization"] = f"Bearer {file.read().strip()}"
        return urllib.request.Request(self.url + path, headers=headers)

    def page(self, after, wait_ms):
        """The events after `after`, as the gateway says them."""
        request = self.request(f"/v1/events?after={after}&limit={PAGE}&wait={wait_ms}")
        # An environment may name a proxy; a gateway's control listener is not behind it.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=wait_ms / 1000 + 10) as answer:
            return json.load(answer)


def follow(log, ledger, once):
    failures = 0
    while True:
        after, known = ledger.place()
        try:
            page = log.page(after, 0 if once else WAIT_MS)
        except urllib.error.HTTPError as error:
            if error.code == 401:
                sys.exit(f"consumer: the gateway refuses the control token of {log.token_file} (--token-file)")
            if error.code != 503:
                raise
            failures = pause(failures, once, error)
            continue
        except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
            # No gateway, or the answer broke off in the middle: none of its events were taken.
            failures = pause(failures, once, error)
            continue
        failures = 0
        # Earlier gateways do not name their log.
        named = page.get("log")
        if page.get("beyond_end") or (named and known and named != known):
            print(f"the log id has changed ({named}): starting over", file=sys.stderr)
            ledger.forget_place(named)
            continue
        entries = [(entry["offset"], entry["event"]) for entry in page["events"]]
        if not entries:
            if named and not known:
                ledger.take([], after, named)
            if once:
                return
            # A gateway that drains does not wait.
            time.sleep(0.1)
            continue
        if after and entries[0][0] > after + 1:
            print(f"offsets {after + 1} to {entries[0][0] - 1} are gone: away for longer than the retention", file=sys.stderr)
        for mid, points, event in ledger.take([event for _, event in entries], page["next"], named or known):
            print(f"{event}: {points:+d} for user {mid}, who has {ledger.points(mid):.0f}", flush=True)


def pause(failures, once, error):
    if once:
        sys.exit(f"consumer: the log cannot be read: {error}")
    if failures == 0:
        print(f"the log cannot be read: {error}; waiting", file=sys.stderr)
    time.sleep(RETRY_SECONDS[min(failures, len(RETRY_SECONDS) - 1)])
    return failures + 1


def main():
    parser = argparse.ArgumentParser(description="Credits points for the rewards in Heartline's event log.")
    parser.add_argument("--url", default="http://127.0.0.1:7702", help="the gateway's control listener")
    parser.add_argument("--token-file", default="heartline-data/control-token", help="where the control token is")
    parser.add_argument("--database", default="points.db", help="where the points are kept")
    parser.add_argument("--once", action="store_true", help="end when everything there is has been read")
    parser.add_argument("--replay", action="store_true", help="begin with the oldest event that is kept")
    arguments = parser.parse_args()
    ledger = Ledger(arguments.database)
    if arguments.replay:
        ledger.forget_place()
    try:
        follow(Log(arguments.url, arguments.token_file), ledger, arguments.once)
    except KeyboardInterrupt:
        pass
    print("points:")
    for mid, points in ledger.everybody():
        print(f"  user {mid}: {points}")


if __name__ == "__main__":
    main()
