-- The beginning of every script: nothing is read from, and nothing written into, a Redis that is not the one that was
-- prepared. KEYS are {h<shard>}:deployment, ARGV[1] what they must hold. `tags`: the beginnings of all keys of the shards.

local tags = {}
for place, key in ipairs(KEYS) do
  if redis.call('GET', key) ~= ARGV[1] then
    return redis.error_reply('WIPED ' .. key .. ' is missing, or of another deployment')
  end
  tags[place] = string.sub(key, 1, -12)
end
local tag = tags[1]
