-- Removes a revocation. KEYS[1] is {h<shard>}:deployment. ARGV: the deployment, the key of the list, field, and the
-- greatest moment with which a value begins that is removed, in as many digits.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('WIPED ' .. KEYS[1] .. ' is missing, or of another deployment')
end
local value = redis.call('HGET', ARGV[2], ARGV[3])
if value and string.sub(value, 1, #ARGV[4]) <= ARGV[4] then
  redis.call('HDEL', ARGV[2], ARGV[3])
  redis.call('HINCRBY', ARGV[2], 'edition', 1)
end
return 1
