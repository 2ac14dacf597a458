-- Counts views. For each view, the mark, the day, the total and the pending sums change together.
--
--   ARGV[2]  the time, milliseconds
--   ARGV[3]  fields that a shard may have pending; more are refused
--   ARGV[4]  totals that a shard may remember; beyond it, one chosen at random is forgotten
--   ARGV[5]  milliseconds after which marks expire
--   then for each view: the index of its shard in KEYS, the content, its day, the day before, the day after, the mark,
--   8 bytes that identify this request, the total
--     'ask' = answer 'miss' if the total is not remembered, and count nothing
--     'unknown' = count without a total
--     'STORED FLIGHT REMOVED' = if it is not remembered: the stored total, the last flight in it, and the last flight
--     that the shard had removed before that was read
--
-- Answers for each: the result, and a number or false
--   'counted', the total
--   'counted'  also if this request had set the mark before; 'seen' if another request had; the total or false
--   'miss'     the view was not counted; the last removed flight
--   'stale'    a flight was removed since the total was read: read it again
--   'full'     too much is pending

local FIRST, WORDS = 6, 8
local call = redis.call
local now, pending_max, totals_max, marks_ms = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5]

-- The total after the sums of a hash are added to it.
local function upon(total, sums, content)
  local by, restarts = unpack(call('HMGET', sums, content, content .. '!'))
  if restarts then
    total = 0
  end
  return total + (tonumber(by or 0))
end

-- Remembers the total. Returns whether the total was still up to date.
local function fill(tag, content, known)
  local stored, flight, removed = string.match(known, '^(%S+) (%S+) (%S+)$')
  local held, present = unpack(call('HMGET', tag .. ':s', 'held', 'removed'))
  if (present or '0') ~= removed then
    return false
  end
  local total = tonumber(stored)
  if held and tonumber(held) > tonumber(flight) then
    total = upon(total, tag .. ':sf', content)
  end
  local totals = tag .. ':v'
  if call('HLEN', totals) >= totals_max then
    call('HDEL', totals, call('HRANDFIELD', totals))
  end
  call('HSET', totals, content, upon(total, tag .. ':sp', content))
  return true
end

-- Returns the request that has set the mark.
local function marked(marks, mark)
  local found = call('ZRANGEBYLEX', marks, '[' .. mark, '(' .. mark .. string.rep('\255', 9), 'LIMIT', 0, 1)[1]
  return found and string.sub(found, #mark + 1)
end

local function count(tag, content, day, before, after, mark, request, known)
  local totals, pending, marks = tag .. ':v', tag .. ':sp', tag .. ':vm:' .. day
  -- A view that was asked for, or is repeated, around midnight may come after another that has the next day.
  local by = marked(marks, mark) or marked(tag .. ':vm:' .. before, mark) or marked(tag .. ':vm:' .. after, mark)
  if by then
    return by == request and 'counted' or 'seen', call('HGET', totals, content)
  end
  local remembered = call('HEXISTS', totals, content) == 1
  if not remembered and known == 'ask' then
    return 'miss', call('HGET', tag .. ':s', 'removed') or '0'
  end
  local waiting, of_day = call('HLEN', pending), content .. ':' .. day
  if waiting >= pending_max and call('HEXISTS', pending, of_day) == 0 then
    return 'full', false
  end
  if not remembered and known ~= 'unknown' then
    remembered = fill(tag, content, known)
    if not remembered then
      return 'stale', false
    end
  end
  if waiting == 0 then
    call('HSETNX', tag .. ':s', 'since', now)
  end
  call('HINCRBY', pending, content, 1)
  call('HINCRBY', pending, of_day, 1)
  call('SADD', tag .. ':sd', day)
  call('ZADD', marks, 0, mark .. request)
  if call('ZCARD', marks) == 1 then
    call('PEXPIRE', marks, marks_ms)
  end
  return 'counted', remembered and call('HINCRBY', totals, content, 1)
end

local answers = {}
for at = FIRST, #ARGV, WORDS do
  local tag = tags[tonumber(ARGV[at])]
  answers[#answers + 1] = { count(tag, unpack(ARGV, at + 1, at + WORDS - 1)) }
end
return answers
