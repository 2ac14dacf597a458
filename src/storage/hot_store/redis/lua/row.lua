-- The row of a content: what is kept of one user in it. The value of a field in {h}:r:<mid>.
--
--   flags    1 byte   state (0 = there is no record), and which of the optional parts follow
--   at       6 bytes, session 8, day of the credit 2, since 6, base 1 + n   if there is a record
--   above    7 bytes  by how much its version exceeds at * 1000             ABOVE
--   at       6 bytes, version 7                                             TOMBSTONE
--   claims   1 + n    numbers of rules that claimed on the credit's day     CLAIMS
--   the rest          what only the gateway reads
--
-- `row.rs` reads and writes the same.

local STATES, ABOVE, TOMBSTONE, CLAIMS = 8, 8, 16, 32

-- Its optional parts, from `place` on: above, the tombstone's at (-1 = there is none) and version, claims, and where the
-- rest begins.
local function optional_parts(row, flags, place)
  local above, tombstone_at, tombstone_version, claims = 0, -1, 0, ''
  local parts = flags - flags % STATES
  if parts % (2 * ABOVE) >= ABOVE then
    above, place = read('>I7', row, place)
  end
  if parts % (2 * TOMBSTONE) >= TOMBSTONE then
    tombstone_at, tombstone_version, place = read('>I6I7', row, place)
  end
  if parts >= CLAIMS then
    claims, place = read('>Bc0', row, place)
  end
  return above, tombstone_at, tombstone_version, claims, place
end

-- Of the record: at (-1 = there is none) and version; of the tombstone: at (-1 = there is none) and version.
local function stamps_of(row)
  local flags = byte(row)
  local state, place, at = flags % STATES, 2, -1
  if state > 0 then
    local _
    _, at, _, _, _, _, place = read('>BI6c8HI6Bc0', row)
  end
  local above, tombstone_at, tombstone_version = optional_parts(row, flags, place)
  return at, at * 1000 + above, tombstone_at, tombstone_version
end

-- A row put together. `head` is what stands before the optional parts, without the flags.
local function row_of(state, head, above, tombstone_at, tombstone_version, claims, rest)
  local flags, parts = state, ''
  if above > 0 then
    flags, parts = flags + ABOVE, write('>I7', above)
  end
  if tombstone_at >= 0 then
    flags, parts = flags + TOMBSTONE, parts .. write('>I6I7', tombstone_at, tombstone_version)
  end
  if claims ~= '' then
    flags, parts = flags + CLAIMS, parts .. write('>Bc0', #claims, claims)
  end
  return char(flags) .. head .. parts .. rest
end
