-- A lease on what is due of an owner: of those that take, and of those that end one and go on.
--
--   ARGV[5]  milliseconds that a lease lasts
--   ARGV[6]  entries of one lease
--   ARGV[7]  bytes of one lease; one entry comes however long it is
--   ARGV[8]  bytes of all leases: no more are given then
--
-- A lease is: when it was due, the id, the fence, '1' if it has waited in the slow line, state, failing and last failure, the definition, and the numbers and
-- events of its entries.

local lease_ms, entries_max = tonumber(ARGV[5]), ARGV[6]
local lease_bytes_max, taken_bytes_max = tonumber(ARGV[7]), tonumber(ARGV[8])

-- A fence for each owner of the unit that is chosen is reserved at once.
local function fence_of(unit)
  unit.fence = unit.fence and unit.fence + 1 or reserve(unit.tag, unit.chosen)
  return text(unit.fence)
end

-- The oldest of the queue, none of which is too old; none if what is too old is too much for one step.
local function front_of(tag, id, queue)
  local entries = call('LRANGE', queue, 0, entries_max - 1)
  if entries[1] and look_at(entries[1]) < horizon then
    local owner = read(tag, id)
    local _, is_within = shed(owner)
    keep(owner)
    entries = is_within and call('LRANGE', queue, 0, entries_max - 1) or {}
  end
  return entries
end

local taken_bytes = 0

-- Returns none if there is nothing to deliver.
local function lease(unit, due, id)
  local tag = unit.tag
  local record, queue = tag .. ':qo:' .. id, tag .. ':ql:' .. id
  local state, events, failing, failure, slow = unpack(call('HMGET', record, 'w', 'n', 'g', 'h', 'q'))
  if state ~= 'active' or (tonumber(events) or 0) == 0 then
    call('ZREM', tag .. unit.line, id)
    return nil
  end
  local own_line = slow and SLOW or QUICK
  if own_line ~= unit.line then
    -- An earlier version, which has one line only, has put it here.
    call('ZREM', tag .. unit.line, id)
    call('ZADD', tag .. own_line, 'NX', text(now), id)
    return nil
  end
  local chosen, lease_bytes = {}, 0
  for _, entry in ipairs(front_of(tag, id, queue)) do
    local number, bytes = look_at(entry)
    if #chosen > 0 and lease_bytes + bytes > lease_bytes_max then
      break
    end
    lease_bytes = lease_bytes + bytes
    chosen[#chosen + 1], chosen[#chosen + 2] = text(number), event_of(entry, bytes)
  end
  if #chosen == 0 then
    return nil
  end
  taken_bytes = taken_bytes + lease_bytes
  local fence, lease_end = fence_of(unit), text(now + lease_ms)
  call('HSET', record, 'f', fence, 'l', lease_end)
  call('ZADD', tag .. unit.line, lease_end, id)
  return { text(due), id, fence, slow or '', state, failing or '', failure or '', call('GET', tag .. ':qp:' .. id), chosen }
end
