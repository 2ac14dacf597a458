"""A process that writes the history store and does nothing else."""

import re

from wire.gateway import Gateway


class Job(Gateway):
    words = ("serve", "--role", "job")
    ready_line = re.compile(rb"^heartline job is running \(admin (http://\S+)\)\n", re.M)

    def is_at(self, admin):
        self.admin = admin
