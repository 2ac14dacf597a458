"""Webhooks as a subscriber sees them: run with `tests/run subscribers`."""
