"""What users do with their contents: operations as frames have them, without their `seq`. No I/O."""

KINDS, OIDS = (1, 2, 3), range(1, 16)
DEVICES = ("tv", "phone", "a tablet: 7!", "")
STATES = ("playing", "playing", "paused", "seeked", "ended")
BEATS_MAX = 6
# Records are kept so long. A beat may come late, with a moment that is about to expire.
RETENTION_MS = 30 * 60_000
LATE_MS = (2_000, 20_000)
DELETE_CHANCE, CLEAR_CHANCE, ERASE_CHANCE = 0.12, 0.03, 0.01


def operation(dice, now, late_chance):
    """`late_chance`: of a beat that is about to expire."""
    chance = dice.random()
    if chance < CLEAR_CHANCE:
        return {"clear": {"at": now}}
    if chance < CLEAR_CHANCE + DELETE_CHANCE:
        contents = [_content(dice) for _ in range(dice.randint(1, 3))]
        return {"delete": {"items": contents, "at": now}}
    return {"beats": {"items": [beat(dice, now, late_chance) for _ in range(dice.randint(1, BEATS_MAX))]}}


def beat(dice, now, late_chance):
    return {**_content(dice), **_position(dice), "at": _moment(dice, now, late_chance)}


def beats_of_all(dice, now, count):
    """Of so many contents, each one once."""
    contents = dice.sample([(kind, oid) for kind in KINDS for oid in OIDS], count)
    return [{"kind": kind, "oid": str(oid), **_position(dice), "at": now} for kind, oid in contents]


def _content(dice):
    return {"kind": dice.choice(KINDS), "oid": str(dice.choice(OIDS))}


def _position(dice):
    duration = dice.choice((0, 40_000, 60_000))
    return {
        # Some are at the very edge of being finished.
        "pos": dice.choice((0, dice.randrange(40_000), duration * 9 // 10, max(0, duration * 9 // 10 - 1))),
        "dur": duration,
        "state": dice.choice(STATES),
        "session": str(dice.getrandbits(40) + 1),
        "watched": dice.randint(1, 20_000),
    }


def _moment(dice, now, late_chance):
    late = dice.random() < late_chance
    return now - RETENTION_MS + dice.randint(*LATE_MS) if late else now - dice.randrange(1_000)
