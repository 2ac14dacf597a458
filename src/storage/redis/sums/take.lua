-- Decides once for each shard which of its pending sums are in the flight of a number. A shard that is asked again, by any
-- gateway and however late, tells what was decided: so the flight is fixed as soon as every shard was asked once.
-- A shard that gives all changes names only; one that has too much moves a part and keeps the rest. However many sums there
-- are, it takes no longer. They are read afterwards, in steps.
--
--   ARGV[2]  the number, microseconds
--   ARGV[3]  a digit for each shard of KEYS: 1 = it gives its pending sums, 0 = they wait for a later flight
--   ARGV[4]  the most sums of a shard that gives all, unless a deletion is among them
--   ARGV[5]  how many a shard gives that has more
--
-- For each shard, answers how many sums of the flight it holds, and whether others have stayed (1 or 0); or as a text the
-- number of a lower flight that it holds.

local number, all_max, part, answers = tonumber(ARGV[2]), tonumber(ARGV[4]), tonumber(ARGV[5]), {}
local STEP = 500

local function length(tag, hash)
  return redis.call('HLEN', tag .. hash)
end

local function held_now(tag, state)
  local all = redis.call('HGET', state, 'taken') == ARGV[2]
  return { length(tag, ':sf') + length(tag, ':sg'), all and 0 or 1 }
end

-- The scan goes on where the last one of this hash ended, so that it does not pass again what has gone. The sums that a page
-- has beyond the most are found in the next round.
local function move(tag, state, pending, flight, most)
  local place = 'scan' .. pending
  local cursor = redis.call('HGET', state, place) or '0'
  while most > 0 do
    local page = redis.call('HSCAN', tag .. pending, cursor, 'COUNT', math.min(most, STEP))
    local pairs_found = math.min(#page[2] / 2, most, 2 * STEP)
    local fields = {}
    for at = 1, pairs_found do
      fields[at] = page[2][2 * at - 1]
    end
    if pairs_found > 0 then
      redis.call('HSET', tag .. flight, unpack(page[2], 1, 2 * pairs_found))
      redis.call('HDEL', tag .. pending, unpack(fields))
    end
    most, cursor = most - pairs_found, page[1]
  end
  redis.call('HSET', state, place, cursor)
end

local function give_part(tag, state, views, counters)
  local of_views = math.min(views, math.max(part - counters, math.ceil(part / 2)))
  move(tag, state, ':sp', ':sf', of_views)
  move(tag, state, ':sc', ':sg', part - of_views)
  -- What has stayed may be as old. Its days stay named, so that a deletion finds them.
  redis.call('HSET', state, 'held', ARGV[2], 'began', redis.call('HGET', state, 'since') or 0)
end

local function give_all(tag, state)
  for pending, flight in pairs({ [':sp'] = ':sf', [':sc'] = ':sg' }) do
    if redis.call('EXISTS', tag .. pending) == 1 then
      redis.call('RENAME', tag .. pending, tag .. flight)
    end
  end
  redis.call('UNLINK', tag .. ':sd')
  local since = redis.call('HGET', state, 'since') or 0
  redis.call('HSET', state, 'held', ARGV[2], 'taken', ARGV[2], 'began', since)
  redis.call('HDEL', state, 'since', 'urgent', 'scan:sp', 'scan:sc')
end

local function decide(tag, state, gives)
  local views, counters = length(tag, ':sp'), length(tag, ':sc')
  if views + counters == 0 then
    redis.call('HSET', state, 'last', ARGV[2], 'taken', ARGV[2])
    return 0
  end
  -- An earlier version has not written it: it took all with each flight.
  redis.call('HSETNX', state, 'taken', redis.call('HGET', state, 'last') or 0)
  redis.call('HSET', state, 'last', ARGV[2])
  if not gives then
    return 0
  end
  -- A deletion and what is pending of its content go together: a flight before it would be undone by it.
  if views + counters <= all_max or redis.call('HEXISTS', state, 'urgent') == 1 then
    give_all(tag, state)
  else
    give_part(tag, state, views, counters)
  end
  return held_now(tag, state)
end

for index, tag in ipairs(tags) do
  local state = tag .. ':s'
  local held = tonumber(redis.call('HGET', state, 'held') or 0)
  local last = tonumber(redis.call('HGET', state, 'last') or 0)
  if held > 0 and held < number then
    answers[index] = tostring(redis.call('HGET', state, 'held'))
  elseif held == number then
    answers[index] = held_now(tag, state)
  elseif last >= number then
    answers[index] = 0
  else
    answers[index] = decide(tag, state, string.sub(ARGV[3], index, index) == '1')
  end
end
return answers
