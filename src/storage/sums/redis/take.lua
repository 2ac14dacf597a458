-- In each shard, makes all pending sums the flight of a number, unless the shard holds a flight.
--
--   ARGV[2]  the number, microseconds
--
-- For each shard, answers with the fields of the flight, or with a number if the shard holds a lower flight.

local number, answers = tonumber(ARGV[2]), {}

-- Views, then counters.
local function sums(tag)
  local all = redis.call('HGETALL', tag .. ':sf')
  for _, word in ipairs(redis.call('HGETALL', tag .. ':sg')) do
    all[#all + 1] = word
  end
  return all
end

-- Whether anything was pending.
local function begin(tag)
  local any = false
  for pending, flight in pairs({ [':sp'] = ':sf', [':sc'] = ':sg' }) do
    if redis.call('EXISTS', tag .. pending) == 1 then
      redis.call('RENAME', tag .. pending, tag .. flight)
      any = true
    end
  end
  return any
end

for place, tag in ipairs(tags) do
  local state = tag .. ':s'
  local held = tonumber(redis.call('HGET', state, 'held') or 0)
  local last = tonumber(redis.call('HGET', state, 'last') or 0)
  if held > 0 and held < number then
    answers[place] = tostring(redis.call('HGET', state, 'held'))
  elseif held == number then
    answers[place] = sums(tag)
  elseif last >= number then
    answers[place] = {}
  else
    redis.call('HSET', state, 'last', ARGV[2])
    if begin(tag) then
      redis.call('HSET', state, 'held', ARGV[2], 'began', redis.call('HGET', state, 'since') or 0)
      redis.call('HDEL', state, 'since')
      answers[place] = sums(tag)
    else
      answers[place] = {}
    end
  end
end
return answers
