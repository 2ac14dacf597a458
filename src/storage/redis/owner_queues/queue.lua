-- What the scripts of owners' queues share. It stands between the look at the deployment and the script itself.
--
--   ARGV[2], [3], [4]  what a queue may hold: events, bytes, milliseconds
--
-- All times are of this server's clock. A number is the time in microseconds at which it was given, or one more than the
-- newest: it is given once, and tells when an entry was queued.

local call = redis.call
local events_max, bytes_max = tonumber(ARGV[2]), tonumber(ARGV[3])
local time = call('TIME')
local now_us = time[1] * 1000000 + time[2]
local now = math.floor(now_us / 1000)
-- Entries with lower numbers are too old.
local horizon = now_us - tonumber(ARGV[4]) * 1000

-- Entries that one step moves to the dead letters of an owner, and those that are read together.
local MOVED_MAX, PAGE = 500, 100

-- Exact below 2^53. Redis itself writes a number that a command is given as a float, which takes far longer.
local function text(number)
  return string.format('%d', number)
end

-- Of a dead letter.
local function entry_id(number)
  return text(number) .. '-0'
end

local function id_of(letter)
  return tonumber(string.match(letter[1], '^%d+'))
end

-- Of an entry in a queue: its number, and the bytes of its event.
local function look_at(entry)
  local space = string.find(entry, ' ', 1, true)
  return tonumber(string.sub(entry, 1, space - 1)), #entry - space
end

local function event_of(entry, bytes)
  return string.sub(entry, #entry - bytes + 1)
end

-- The first of so many numbers that follow each other.
local function reserve(tag, count)
  local first = math.max(now_us, (tonumber(call('HGET', tag .. ':qs', 'last') or 0)) + 1)
  call('HSET', tag .. ':qs', 'last', text(first + count - 1))
  return first
end

-- The control queue has two lines.
local QUICK, SLOW = ':qc', ':qw'

-- An owner; `incarnation` is false if there is none. Further fields of its record are in `more`, by their names.
local function read(tag, id, ...)
  local record = tag .. ':qo:' .. id
  local f = call('HMGET', record, 'i', 'w', 'n', 'b', 'l', 'f', 'q', ...)
  local owner = {
    tag = tag, id = id, record = record, queue = tag .. ':ql:' .. id, dead = tag .. ':qd:' .. id,
    incarnation = f[1], state = f[2], events = tonumber(f[3] or 0), bytes = tonumber(f[4] or 0),
    lease_end = tonumber(f[5] or 0), fence = f[6] ~= '' and f[6], line = f[7] and SLOW or QUICK, more = {}, dropped = 0,
  }
  for index, name in ipairs({ ... }) do
    owner.more[name] = f[7 + index]
  end
  owner.had_events, owner.had_bytes = owner.events, owner.bytes
  return owner
end

-- Reads what it has of dead letters. Few steps are about them.
local function count_dead(owner)
  if not owner.dead_events then
    local f = call('HMGET', owner.record, 'y', 'z')
    owner.dead_events, owner.dead_bytes = tonumber(f[1] or 0), tonumber(f[2] or 0)
    owner.had_dead = owner.dead_events
  end
end

local sums = {}

local function add(tag, field, by)
  local of_unit = sums[tag] or {}
  sums[tag], of_unit[field] = of_unit, (of_unit[field] or 0) + by
end

-- Writes what was added to the totals: the last thing that a script does.
local function settle()
  for tag, of_unit in pairs(sums) do
    for field, by in pairs(of_unit) do
      if by ~= 0 then
        call('HINCRBY', tag .. ':qs', field, text(by))
      end
    end
  end
end

-- Writes what has changed of an owner's queue, and further fields of its record.
local function keep(owner, ...)
  local tag, id = owner.tag, owner.id
  if owner.events == 0 and owner.had_events > 0 then
    call('ZREM', tag .. owner.line, id)
    call('ZREM', tag .. ':qa', id)
  end
  if owner.dead_events and (owner.dead_events ~= owner.had_dead or owner.dropped > 0) then
    call('HSET', owner.record, 'y', text(owner.dead_events), 'z', text(owner.dead_bytes))
    add(tag, 'dead', owner.dead_events - owner.had_dead)
    add(tag, 'dropped', owner.dropped)
    owner.had_dead, owner.dropped = owner.dead_events, 0
  end
  call('HSET', owner.record, 'n', text(owner.events), 'b', text(owner.bytes), ...)
  add(tag, 'events', owner.events - owner.had_events)
  add(tag, 'bytes', owner.bytes - owner.had_bytes)
  owner.had_events, owner.had_bytes = owner.events, owner.bytes
end

-- Queues events, with numbers that follow each other.
local function enter(owner, number, events)
  if owner.events == 0 then
    call('ZADD', owner.tag .. ':qa', text(number), owner.id)
  end
  local entries = {}
  for index, event in ipairs(events) do
    entries[index] = text(number + index - 1) .. ' ' .. event
    owner.bytes = owner.bytes + #event
  end
  call('RPUSH', owner.queue, unpack(entries))
  owner.events = owner.events + #events
end

-- It waits there from now on. It is in no line until it is put in.
local function set_line(owner, line)
  if owner.line ~= line then
    call('ZREM', owner.tag .. owner.line, owner.id)
    owner.line = line
    if line == SLOW then
      call('HSET', owner.record, 'q', 1)
    else
      call('HDEL', owner.record, 'q')
    end
  end
end

-- A present time stays, unless it is to be lowered.
local function put_in(owner, lower)
  if owner.state == 'active' and owner.events > 0 then
    local due = math.max(now, owner.lease_end)
    if lower then
      call('ZADD', owner.tag .. owner.line, text(due), owner.id)
    else
      call('ZADD', owner.tag .. owner.line, 'NX', text(due), owner.id)
    end
  end
end

-- Drops the oldest dead letters beyond the bounds.
local function shed_dead(owner)
  local function is_full()
    return owner.dead_events > events_max or owner.dead_bytes > bytes_max and owner.dead_events > 1
  end
  while is_full() do
    local last
    for _, letter in ipairs(call('XRANGE', owner.dead, '-', '+', 'COUNT', PAGE)) do
      if not is_full() then
        break
      end
      last = id_of(letter)
      owner.dead_events, owner.dead_bytes = owner.dead_events - 1, owner.dead_bytes - #letter[2][2]
      owner.dropped = owner.dropped + 1
    end
    assert(last, owner.dead .. ' has fewer entries than its record says')
    call('XTRIM', owner.dead, 'MINID', '=', entry_id(last + 1))
  end
end

-- Moves the oldest beyond the bounds to the dead letters, as many as one step may. Returns how many, and whether the
-- rest is within the bounds.
local function shed(owner)
  local function is_full()
    return owner.events > events_max or owner.bytes > bytes_max and owner.events > 1
  end
  -- Where there was nothing, all was queued just now.
  local oldest = owner.had_events > 0 and tonumber(call('ZSCORE', owner.tag .. ':qa', owner.id)) or now_us
  local moved, looked = 0, false

  -- Returns false if one is within the bounds.
  local function shed_page()
    local entries = call('LRANGE', owner.queue, 0, PAGE - 1)
    assert(entries[1], owner.queue .. ' has fewer entries than its record says')
    local count, why = 0, nil
    looked = true
    count_dead(owner)
    for _, entry in ipairs(entries) do
      local number, bytes = look_at(entry)
      oldest = number
      why = oldest < horizon and 'too_old' or is_full() and 'queue_full'
      if not why then
        break
      end
      call('XADD', owner.dead, entry_id(number), 'e', event_of(entry, bytes), 'r', why, 't', text(now))
      owner.events, owner.bytes = owner.events - 1, owner.bytes - bytes
      owner.dead_events, owner.dead_bytes = owner.dead_events + 1, owner.dead_bytes + bytes
      count = count + 1
    end
    if count > 0 then
      call('LTRIM', owner.queue, count, -1)
    end
    moved = moved + count
    return why
  end

  while owner.events > 0 and moved < MOVED_MAX and (is_full() or oldest < horizon) and shed_page() do
  end
  if looked and owner.events > 0 then
    call('ZADD', owner.tag .. ':qa', text(oldest), owner.id)
  end
  if moved > 0 then
    shed_dead(owner)
  end
  return moved, owner.events == 0 or not (is_full() or oldest < horizon)
end

-- What stops an owner that is not active, as a number. A state of a newer version counts as paused.
local PAUSED, TRIES_USED_UP, DISABLED = 1, 2, 3

-- Lists an owner that is failing or stopped. All of it may be repeated: versions before these lists did not keep them.
local function classify(owner, failing)
  local since = owner.state == 'active' and string.match(failing, '^%d+')
  if since then
    call('ZADD', owner.tag .. ':qf', since, owner.id)
  else
    call('ZREM', owner.tag .. ':qf', owner.id)
  end
  if owner.state == 'active' then
    call('ZREM', owner.tag .. ':qx', owner.id)
  else
    local stopped = owner.state == 'disabled' and DISABLED or owner.state == 'tries_used_up' and TRIES_USED_UP or PAUSED
    call('ZADD', owner.tag .. ':qx', stopped, owner.id)
  end
end

-- Tells the cascade that something has changed of a subscription.
local function tell(tag, id, number)
  call('ZADD', tag .. ':qv', text(number), id)
end
