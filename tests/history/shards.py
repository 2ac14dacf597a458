"""The region of a user, as src/model/shard.rs has it: SipHash-2-4 with a key of zeroes."""

SHARDS, REGIONS = 1_000, 100
_BITS = (1 << 64) - 1
_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def region_of(mid):
    return _hash(mid.to_bytes(8, "little")) % SHARDS % REGIONS


def _hash(eight):
    """Of 8 bytes."""
    state = list(_START)
    for word in (int.from_bytes(eight, "little"), 8 << 56):
        state[3] ^= word
        _rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _rounds(state, count):
    a, b, c, d = state
    for _ in range(count):
        a = (a + b) & _BITS
        b = _rotated(b, 13) ^ a
        a = _rotated(a, 32)
        c = (c + d) & _BITS
        d = _rotated(d, 16) ^ c
        a = (a + d) & _BITS
        d = _rotated(d, 21) ^ a
        c = (c + b) & _BITS
        b = _rotated(b, 17) ^ c
        c = _rotated(c, 32)
    state[:] = a, b, c, d


def _rotated(word, by):
    return (word << by | word >> (64 - by)) & _BITS
