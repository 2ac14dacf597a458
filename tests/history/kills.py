"""SIGKILL of each part in turn, and SIGSTOP of what others depend on, under load, while rows leave Redis: what was acked is in
Cassandra afterwards, and is read, and nothing else."""

import time

from history import cold, reads
from tiers.freezes import Freezes
from wire.patience import until

PLAYERS = 60
FIRST = 1_000_001  # and so many users later those of the next round
PLAN = (3, 10)  # of a visit
ACKS_LEAST = 1_000  # before a kill, and again when all is back; `--acks` are the most
AWAY_SECONDS = (0.0, 1.5)
TRIM = {"HISTORY__TRIM": "on", "HISTORY__HOT_MAX": 8, "HISTORY__HOT_KEEP": 4}
TRIMMED = "heartline_history_trimmed_rows_total"


def run(part, args):
    for gateway in part.scene.gateways:
        gateway.stop()
        gateway.settings.update(TRIM)
        gateway.start()
    part.scene.wait_until_ready()
    victims = _victims(part)
    for number in range(1, args.rounds + 1):
        _round(part, number, args.acks, lambda number=number: _kill(part, *victims[number % len(victims)]))
    cold.run(part)
    if not args.frozen:
        return
    freezes = Freezes(args, part.dice, part.scene)
    for number in range(args.rounds + 1, args.rounds + args.frozen + 1):
        if not part.faults:
            _round(part, number, args.acks, lambda: str(freezes.freeze_next()))
    print(f"stopped: {dict(freezes.count)}", flush=True)


def _victims(part):
    """By name, those of which one at a time is killed; in a random order: of few rounds each has another few."""
    scene = part.scene
    victims = {
        "gateway": scene.gateways, "Redis": scene.redis.nodes, "Kafka": [scene.kafka], "job": scene.jobs,
        "Cassandra": [scene.cassandra],
    }
    return part.dice.sample(list(victims.items()), len(victims))


def _kill(part, name, alike):
    victim = part.dice.choice(alike)
    victim.kill()
    time.sleep(part.dice.uniform(*AWAY_SECONDS))
    victim.start()
    return f"{name} killed"


def _round(part, number, acks, strike):
    """`strike`: returns what has happened, and was undone."""
    scene, dice = part.scene, part.dice
    # Half of them have played before.
    mids = range(FIRST + number * PLAYERS // 2, FIRST + (number + 2) * PLAYERS // 2)
    part.crowd.play(mids, scene.places, PLAN)
    part.crowd.wait_for_acks(dice.randint(ACKS_LEAST, acks))
    part.expect(scene.redis.listed_users(), "load", "nothing is listed when something is killed")
    began = time.monotonic()
    blow = strike()
    scene.wait_until_ready()
    back = time.monotonic() - began
    part.crowd.wait_for_acks(dice.randint(ACKS_LEAST, acks))
    figures = part.crowd.stop()
    part.figures.add(figures)
    began = time.monotonic()
    scene.wait_until_drained()
    drained = time.monotonic() - began
    part.judge(mids)
    reads.judge(part, mids)
    until("only the head of idle users is hot", lambda: scene.redis.most_rows() <= 1, every=0.2)
    reads.judge(part, mids)
    late, read = (scene.counted(name, scene.gateways) for name in (TRIMMED, 'heartline_cold_reads_total{outcome="read"}'))
    part.expect(not (marks := scene.redis.marks()), "listing", f"marks are left: {marks[:5]}")
    print(
        f"round {number}: {blow}, all ready after {back:.1f} s; {figures.beats} beats, {figures.steps}, "
        f"{figures.broken} connections or answers broken; drained in {drained:.1f} s; {late:.0f} rows "
        f"have left Redis and {read:.0f} users were read from Cassandra since the last kill of a gateway; {len(part.faults)} faults",
        flush=True,
    )
