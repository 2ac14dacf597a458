"""Autobahn's fuzzing client against the gateway's sockets."""
