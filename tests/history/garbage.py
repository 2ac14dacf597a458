"""A message that is no pack is put into quarantine with its reason, and holds up nothing."""

from history.topic import QUARANTINE
from wire.patience import until

# No message of its format at all, one that ends too early, one of a format that is not known, and an empty one.
MESSAGES = (b"no pack", b"\x08\x01\x12\x7fshort", b"\x08\x63", b"")
PLAYERS = range(900_001, 900_101)


def run(part):
    scene = part.scene
    put = {scene.topic.put(b"7", message, partition=n): message for n, message in enumerate(MESSAGES)}
    figures = part.crowd.visit(PLAYERS, scene.places, (1, 10))
    part.figures.add(figures)
    scene.wait_until_drained()
    part.judge(PLAYERS)
    found = {}
    for message in until("the quarantine", lambda: list(scene.topic.messages(QUARANTINE))):
        headers = {name: value.decode() for name, value in message.headers}
        place = int(headers["source_partition"]), int(headers["source_offset"])
        found[place] = message.value or b"", headers.get("reason")
    for place, message in put.items():
        value, reason = found.get(place, (None, None))
        part.expect(value == message and reason, "garbage", f"{message} at {place} is {value} in quarantine: {reason}")
    part.expect(found.keys() == put.keys(), "garbage", f"in quarantine is {found}")
    print(f"garbage: {[reason for _, reason in found.values()]}", flush=True)
