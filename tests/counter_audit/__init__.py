"""Direct counters under kills, counted by clients that know only the contract."""
