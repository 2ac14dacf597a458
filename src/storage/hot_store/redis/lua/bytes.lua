-- Names for what the following parts use, and numbers that a double cannot hold.
--
-- Lua's numbers are doubles, exact up to 2^53. Moments, versions and lengths stay below that. Ids, sessions and what was
-- watched may be any 64 bits: they stay strings of bytes, big-endian, and are compared as two halves. Two strings are
-- never compared by `<`, which goes by the locale of the server.

local day_text, contents_max, kept_ms, claims_ms, claims_max, outbox_max = read('>c10I4I6I6I4I4', ARGV[2], 15)
local call = redis.call
local write = struct.pack
local byte, char, sub = string.byte, string.char, string.sub
local max, min = math.max, math.min

-- The two halves of a number of at most eight bytes, whose leading zeros may be missing.
local function halves(bytes)
  return read('>I4I4', string.rep('\0', 8 - #bytes) .. bytes)
end

-- one > other
local function greater(one, other)
  local one_high, one_low = halves(one)
  local other_high, other_low = halves(other)
  return one_high > other_high or (one_high == other_high and one_low > other_low)
end

-- one - other, and 0 if that is less. Beyond 2^53 it is rounded, and stays beyond.
local function difference(one, other)
  local one_high, one_low = halves(one)
  local other_high, other_low = halves(other)
  return max(0, (one_high - other_high) * 4294967296 + (one_low - other_low))
end
