-- Adds a revocation, unless there is a later one of the same user or token. KEYS[1] is {h<shard>}:deployment.
-- ARGV: the deployment, the key of the list, field, value (its moment first, of fixed width), now, how many are kept.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('WIPED ' .. KEYS[1] .. ' is missing, or of another deployment')
end
local key, field, value, now, most = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local held = redis.call('HGET', key, field)
if held and string.sub(held, 1, 20) > string.sub(value, 1, 20) then
  return held
end

-- The edition is a field, too.
local function full()
  return redis.call('HLEN', key) - redis.call('HEXISTS', key, 'edition') >= most
end

-- Some at a time: whoever commits to this server waits meanwhile.
if not held and full() then
  local all, expired = redis.call('HGETALL', key), {}
  for place = 1, #all, 2 do
    local ends = string.sub(all[place + 1], 21)
    if all[place] ~= 'edition' and ends ~= '' and ends <= now and #expired < 1000 then
      expired[#expired + 1] = all[place]
    end
  end
  if #expired > 0 then
    redis.call('HDEL', key, unpack(expired))
  end
  if full() then
    return false
  end
end
redis.call('HSET', key, field, value)
redis.call('HINCRBY', key, 'edition', 1)
return value
