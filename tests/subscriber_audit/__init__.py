"""Subscribers under load and under kills, judged by a receiver that knows only the contract."""
