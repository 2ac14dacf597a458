-- In each shard, makes all pending sums the flight of a number, unless the shard holds a flight. Only names change: however
-- many sums there are, it takes no longer. They are read afterwards, in steps.
--
--   ARGV[2]  the number, microseconds
--
-- For each shard, answers how many sums of the flight it holds, or as a text the number of a lower flight that it holds.

local number, answers = tonumber(ARGV[2]), {}

local function count(tag)
  return redis.call('HLEN', tag .. ':sf') + redis.call('HLEN', tag .. ':sg')
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
    answers[place] = count(tag)
  elseif last >= number then
    answers[place] = 0
  else
    redis.call('HSET', state, 'last', ARGV[2])
    if begin(tag) then
      redis.call('HSET', state, 'held', ARGV[2], 'began', redis.call('HGET', state, 'since') or 0)
      redis.call('HDEL', state, 'since')
      answers[place] = count(tag)
    else
      answers[place] = 0
    end
  end
end
return answers
