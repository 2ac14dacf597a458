"""Views under kills, counted by clients that know only the contract."""
