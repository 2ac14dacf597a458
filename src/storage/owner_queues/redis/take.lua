-- Leases owners that are due, the longest due first.
--
--   ARGV[9]  owners
--
-- Answers in how many milliseconds the next is due, or false; then the leases.

local limit = tonumber(ARGV[9])
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
