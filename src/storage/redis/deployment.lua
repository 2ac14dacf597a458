-- The beginning of every script: nothing is read from, and nothing written into, a Redis that is not the one that was
-- prepared. KEYS begin with {h<shard>}:deployment, ARGV[1] is what they must hold. `tags`: the beginnings of all keys of the
-- shards. Further KEYS are named for the Cluster alone, which does not begin a call while one of them is elsewhere.

local tags = {}
for index, key in ipairs(KEYS) do
  if not string.find(key, '^{h%d+}:deployment$') then
    break
  end
  tags[index] = string.sub(key, 1, -12)
end
for index, deployment in ipairs(redis.call('MGET', unpack(KEYS, 1, #tags))) do
  if deployment ~= ARGV[1] then
    return redis.error_reply('WIPED ' .. KEYS[index] .. ' is missing, or of another deployment')
  end
end
local tag = tags[1]
