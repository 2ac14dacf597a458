"""Derived counters under kills, held to the records by clients that know only the contract."""
