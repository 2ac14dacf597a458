-- Leases owners that are due, the longest due first.
--
--   ARGV[9]   owners
--   ARGV[10]  of these, owners of the slow line
--   ARGV[11]  '1' if other calls may still have some of these
--
-- Answers in how many milliseconds the next is due that the limit lets through, or false; then the leases.

local limit, slow_limit = tonumber(ARGV[9]), tonumber(ARGV[10])
local slow_chosen = 0
-- Owners of one unit that are looked at together.
local PAGE_OWNERS = math.max(4, math.ceil(limit / #tags))

-- When the first of each line is due, once it was read.
local firsts = {}

local function first_due(line)
  firsts[line] = firsts[line] or { tonumber(call('ZRANGE', line, 0, 0, 'WITHSCORES')[2]) }
  return firsts[line][1]
end

local function may_be_chosen(line)
  return line == QUICK or slow_chosen < slow_limit
end

-- Owners of one line of a unit that are due, a page at a time: each with when it was due.
local function look(unit)
  local page = { 'WITHSCORES', 'LIMIT', unit.read, PAGE_OWNERS }
  unit.found, unit.at = call('ZRANGEBYSCORE', unit.tag .. unit.line, '-inf', now, unpack(page)), 1
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
    for _, line in ipairs({ QUICK, SLOW }) do
      if may_be_chosen(line) and (first_due(tag .. line) or math.huge) <= now then
        units[#units + 1] = { tag = tag, line = line, read = 0, chosen = 0 }
        look(units[#units])
      end
    end
  end
  while #chosen < limit do
    local first
    for _, unit in ipairs(units) do
      if unit.due and may_be_chosen(unit.line) and (not first or unit.due < first.due) then
        first = unit
      end
    end
    if not first then
      break
    end
    first.chosen = first.chosen + 1
    slow_chosen = slow_chosen + (first.line == SLOW and 1 or 0)
    chosen[#chosen + 1] = { unit = first, due = first.due, id = first.found[first.at] }
    next_of(first)
  end
  return chosen
end

local answer = { false }
for _, chosen in ipairs(choose()) do
  firsts[chosen.unit.tag .. chosen.unit.line] = nil
  if taken_bytes >= taken_bytes_max then
    break
  end
  answer[#answer + 1] = lease(chosen.unit, chosen.due, chosen.id)
end
for _, tag in ipairs(tags) do
  for _, line in ipairs({ QUICK, SLOW }) do
    local due = (may_be_chosen(line) or ARGV[11] == '1') and first_due(tag .. line)
    if due then
      local wait = math.max(0, due - now)
      answer[1] = math.min(answer[1] or wait, wait)
    end
  end
end
settle()
return answer
