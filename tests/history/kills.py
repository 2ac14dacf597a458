"""SIGKILL of each part in turn, and SIGSTOP of what others depend on, under load: what was acked is in Cassandra afterwards,
and nothing else."""

import time

from tiers.freezes import Freezes

PLAYERS = 60
FIRST = 1_000_001  # and so many users later those of the next round
PLAN = (3, 10)  # of a visit
ACKS = (2_000, 6_000)  # before a kill, and again when all is back
AWAY_SECONDS = (0.0, 1.5)


def run(part, args):
    for number in range(1, args.rounds + 1):
        _round(part, number, lambda number=number: _kill(part, number))
    if not args.frozen:
        return
    freezes = Freezes(args, part.dice, part.scene)
    for number in range(args.rounds + 1, args.rounds + args.frozen + 1):
        if not part.faults:
            _round(part, number, lambda: str(freezes.freeze_next()))
    print(f"stopped: {dict(freezes.count)}", flush=True)


def _kill(part, number):
    scene, dice = part.scene, part.dice
    victims = [
        ("gateway", dice.choice(scene.gateways)),
        ("Redis", scene.redis.nodes[0]),
        ("Kafka", scene.kafka),
        ("job", dice.choice(scene.jobs)),
        ("Cassandra", scene.cassandra),
    ]
    name, victim = victims[number % len(victims)]
    victim.kill()
    time.sleep(dice.uniform(*AWAY_SECONDS))
    victim.start()
    return f"{name} killed"


def _round(part, number, strike):
    """`strike`: returns what has happened, and was undone."""
    scene, dice = part.scene, part.dice
    # Half of them have played before.
    mids = range(FIRST + number * PLAYERS // 2, FIRST + (number + 2) * PLAYERS // 2)
    part.crowd.play(mids, scene.places, PLAN)
    part.crowd.wait_for_acks(dice.randrange(*ACKS))
    part.expect(scene.redis.listed_users(), "load", "nothing is listed when something is killed")
    began = time.monotonic()
    blow = strike()
    scene.wait_until_ready()
    back = time.monotonic() - began
    part.crowd.wait_for_acks(dice.randrange(*ACKS))
    figures = part.crowd.stop()
    part.figures.add(figures)
    began = time.monotonic()
    scene.wait_until_drained()
    drained = time.monotonic() - began
    part.judge(mids)
    part.expect(not (marks := scene.redis.marks()), "listing", f"marks are left: {marks[:5]}")
    print(
        f"round {number}: {blow}, all ready after {back:.1f} s; {figures.beats} beats, {figures.steps}, "
        f"{figures.broken} connections or answers broken; drained in {drained:.1f} s, {len(part.faults)} faults",
        flush=True,
    )
