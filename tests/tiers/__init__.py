"""The servers a gateway may stand on, as processes: started by tests/services, killed, stopped for a while, started again."""
