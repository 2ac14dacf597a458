"""What breaks around the gateway while a crowd is on it: a full disk, a sync that fails, SIGKILL, other keys.

The crowd is `loadgen`, the project's own, which reads back at its end what it was told is stored. Beside it play users
of the auditor, who imports nothing of ours and judges what they were told whenever the gateway has come back.
"""
