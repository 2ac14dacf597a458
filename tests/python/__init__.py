"""What a client in another language must find true: run with `tests/run python`."""
