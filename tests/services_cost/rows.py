"""The contents that a Redis has rows of, by redis-cli alone: those of the hashes, and the one of each head."""


def rows(redis):
    [node] = redis.nodes
    hashes = node.cli("--scan", "--pattern", "{h*}:r:*")
    heads = node.cli("--scan", "--pattern", "{h*}:h:*")
    return len(heads) + sum(map(int, node.ask([f"HLEN {name}" for name in hashes])))
