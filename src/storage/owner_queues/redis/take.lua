-- Leases owners that are due, the longest due first.
--
--   ARGV[5]  owners
--   ARGV[6]  milliseconds that a lease lasts
--   ARGV[7]  entries of one lease
--   ARGV[8]  bytes of one lease; one entry comes however long it is
--   ARGV[9]  bytes of all leases: no more are given then
--
-- Answers in how many milliseconds the next is due, or false; then for each lease: when it was due, the id, the fence,
-- state, failing and last failure, the definition, and the numbers and events of its entries.

local limit, lease_ms, entries_max, lease_bytes_max, taken_bytes_max = unpack(ARGV, 5, 9)
limit, lease_ms = tonumber(limit), tonumber(lease_ms)
lease_bytes_max, taken_bytes_max = tonumber(lease_bytes_max), tonumber(taken_bytes_max)
-- Owners of one unit that are looked at together.
local PAGE_OWNERS = math.max(4, math.ceil(limit / #tags))

-- When the first of each unit is due, once it was read.
local firsts = {}

local function first_due(tag)
  firsts[tag] = firsts[tag] or { tonumber(call('ZRANGE', tag .. ':qc', 0, 0, 'WITHSCORES')[2]) }
  return firsts[tag][1]
end

-- Owners of one unit that are due, a page at a time: each with when it was due.
local function look(unit)
  local page = { 'WITHSCORES', 'LIMIT', unit.read, PAGE_OWNERS }
  unit.found, unit.at = call('ZRANGEBYSCORE', unit.tag .. ':qc', '-inf', now, unpack(page)), 1
  unit.read = unit.read + #unit.found / 2
  unit.due = tonumber(unit.found[2])
end

local function next_of(unit)
  unit.at = unit.at + 2
  unit.due = tonumber(unit.found[unit.at + 1])
  if not unit.due and #unit.found == 2 * PAGE_OWNERS then
    look(unit)
  end
end

-- Those that are due first, of all units.
local function choose()
  local units, chosen = {}, {}
  for _, tag in ipairs(tags) do
    if (first_due(tag) or math.huge) <= now then
      units[#units + 1] = { tag = tag, read = 0, chosen = 0 }
      look(units[#units])
    end
  end
  while #chosen < limit do
    local first
    for _, unit in ipairs(units) do
      if unit.due and (not first or unit.due < first.due) then
        first = unit
      end
    end
    if not first then
      break
    end
    first.chosen = first.chosen + 1
    chosen[#chosen + 1] = { unit = first, due = first.due, id = first.found[first.at] }
    next_of(first)
  end
  return chosen
end

-- A fence for each that is chosen is reserved at once.
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

local function lease(unit, due, id)
  local tag = unit.tag
  local record, queue = tag .. ':qo:' .. id, tag .. ':ql:' .. id
  local state, events, failing, failure = unpack(call('HMGET', record, 'w', 'n', 'g', 'h'))
  if state ~= 'active' or (tonumber(events) or 0) == 0 then
    call('ZREM', tag .. ':qc', id)
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
  local fence, lease_end = fence_of(unit), now + lease_ms
  call('HSET', record, 'f', fence, 'l', lease_end)
  call('ZADD', tag .. ':qc', lease_end, id)
  return { due, id, fence, state, failing or '', failure or '', call('GET', tag .. ':qp:' .. id), chosen }
end

local answer = { false }
for _, chosen in ipairs(choose()) do
  firsts[chosen.unit.tag] = nil
  if taken_bytes >= taken_bytes_max then
    break
  end
  answer[#answer + 1] = lease(chosen.unit, chosen.due, chosen.id)
end
for _, tag in ipairs(tags) do
  local due = first_due(tag)
  if due then
    local wait = math.max(0, due - now)
    answer[1] = math.min(answer[1] or wait, wait)
  end
end
settle()
return answer
