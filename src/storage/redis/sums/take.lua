-- Decides once for each shard whether its pending sums are in the flight of a number. A shard that is asked again, by any
-- gateway and however late, tells what was decided: so the flight is fixed as soon as every shard was asked once.
-- Only names change: however many sums there are, it takes no longer. They are read afterwards, in steps.
--
--   ARGV[2]  the number, microseconds
--   ARGV[3]  a digit for each shard of KEYS: 1 = it gives all its pending sums, 0 = they wait for a later flight
--
-- For each shard, answers how many sums of the flight it holds, or as a text the number of a lower flight that it holds.

local number, answers = tonumber(ARGV[2]), {}

local function count(tag)
  return redis.call('HLEN', tag .. ':sf') + redis.call('HLEN', tag .. ':sg')
end

local function decide(tag, state, gives)
  if redis.call('EXISTS', tag .. ':sp', tag .. ':sc') == 0 then
    redis.call('HSET', state, 'last', ARGV[2], 'taken', ARGV[2])
    return 0
  end
  -- An earlier version has not written it: it took all with each flight.
  redis.call('HSETNX', state, 'taken', redis.call('HGET', state, 'last') or 0)
  redis.call('HSET', state, 'last', ARGV[2])
  if not gives then
    return 0
  end
  for pending, flight in pairs({ [':sp'] = ':sf', [':sc'] = ':sg' }) do
    if redis.call('EXISTS', tag .. pending) == 1 then
      redis.call('RENAME', tag .. pending, tag .. flight)
    end
  end
  redis.call('UNLINK', tag .. ':sd')
  local since = redis.call('HGET', state, 'since') or 0
  redis.call('HSET', state, 'held', ARGV[2], 'taken', ARGV[2], 'began', since)
  redis.call('HDEL', state, 'since', 'urgent')
  return count(tag)
end

for index, tag in ipairs(tags) do
  local state = tag .. ':s'
  local held = tonumber(redis.call('HGET', state, 'held') or 0)
  local last = tonumber(redis.call('HGET', state, 'last') or 0)
  if held > 0 and held < number then
    answers[index] = tostring(redis.call('HGET', state, 'held'))
  elseif held == number then
    answers[index] = count(tag)
  elseif last >= number then
    answers[index] = 0
  else
    answers[index] = decide(tag, state, string.sub(ARGV[3], index, index) == '1')
  end
end
return answers
