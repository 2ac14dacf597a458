"""What happens to a site in the rounds of an audit: first kills, and then, if they are asked for, freezes."""

from tiers.freezes import Freezes
from tiers.victims import AWAY_SECONDS, Victims


class Blows:
    """`args`: with `rounds`, and those of `add_frozen_options`."""

    def __init__(self, args, dice, site, away_seconds=AWAY_SECONDS):
        self._victims = Victims(dice, site.victims(), away_seconds)
        self._freezes = Freezes(args, dice, site) if args.frozen else None
        self._kills = args.rounds
        self.rounds = range(1, args.rounds + args.frozen + 1)

    def strike(self, number):
        """In that round; a text that tells of it."""
        if number > self._kills:
            return str(self._freezes.freeze_next())
        name, away = self._victims.kill_next()
        return f"{name} killed, away for {away:.2f} s"

    def kill(self, name):
        """Beside the rounds."""
        self._victims.kill(name)

    def __str__(self):
        stopped = f"; stopped: {dict(self._freezes.count)}" if self._freezes else ""
        return f"killed: {dict(self._victims.killed)}{stopped}"
