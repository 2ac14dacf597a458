"""What the history store has lost is written to it again: by itself for who has more than stays hot, else by command."""

from history.scene import HOT_IDLE_SECONDS
from history.unsound import UnsoundPack
from wire.patience import until

PLAYERS = range(910_001, 910_201)
SHOWN = 3  # users who are repaired one by one


def run(part):
    scene = part.scene
    part.figures.add(part.crowd.visit(PLAYERS, scene.places, (2, 10)))
    scene.wait_until_drained()
    part.judge(PLAYERS)
    _expect_no_difference(part)
    stored = scene.table.users(PLAYERS)
    many = [mid for mid, user in stored.items() if len(user.rows) > 1]
    part.expect(len(many) > len(PLAYERS) / 2, "heal", f"only {len(many)} users have more than one content")
    scene.table.truncate()
    unsound = UnsoundPack(part, many[SHOWN], stored[many[SHOWN]])
    unsound.put()
    for mid in many[:SHOWN]:
        said = scene.gateways[0].run("history", "--mid", str(mid), "--repair")
        part.expect(said.startswith("1 user is listed"), "heal", f"--repair says {said!r}")
        until(f"user {mid} is there again", lambda mid=mid: scene.table.users([mid])[mid].rows)
    healed = until("users are listed again by themselves", lambda: _counted(part, "heartline_history_healed_users_total"))
    until("who has more than stays hot is there again", lambda: all(user.rows for user in scene.table.users(many).values()))
    part.judge(many)
    unsound.judge()
    scene.gateways[1].run("history", "--repair", "--all")
    scene.wait_until_drained()
    part.judge(PLAYERS)
    found = {word: _found(part, word) for word in ("same", "newer", "older", "missing", "different")}
    part.expect(found["missing"] >= healed, "heal", f"healed {healed:.0f}, and found {found}")
    print(
        f"heal: after {HOT_IDLE_SECONDS} s idle {healed:.0f} of {len(many)} users by themselves and counting; "
        f"{_counted(part, 'heartline_history_compared_users_total'):.0f} comparisons of users, rows {found}",
        flush=True,
    )


def _expect_no_difference(part):
    """Compares at least these users once more: none of what is carried differs."""
    compared, name = _counted(part, "heartline_history_compared_users_total"), "heartline_history_compared_users_total"
    until("users are compared", lambda: _counted(part, name) >= compared + len(PLAYERS) / 2)
    different = _found(part, "different")
    part.expect(different == 0, "heal", f"{different:.0f} rows differ under the same version")


def _counted(part, name):
    return part.scene.counted(name, part.scene.gateways)


def _found(part, word):
    return _counted(part, f'heartline_history_compared_total{{found="{word}"}}')
