"""Runs what the README tells a reader to run, as it stands there."""
