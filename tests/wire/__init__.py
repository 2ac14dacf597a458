"""What a client has that knows docs/protocol.md and nothing else: a token, a socket, and the binary to start."""
