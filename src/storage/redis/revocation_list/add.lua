-- Puts a revocation into the list, as it was decided on what was there. KEYS[1] is {h<shard>}:deployment.
-- ARGV: the deployment, the key of the list, a field, its present value ('' = none), its new value, the number of
-- revocations at which a new field is refused; then fields to remove, each with its present value.
--
-- Answers with 1. Answers with 0 if the list is not what it was decided on.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('WIPED ' .. KEYS[1] .. ' is missing, or of another deployment')
end
local key, field, present, value, most = ARGV[2], ARGV[3], ARGV[4], ARGV[5], tonumber(ARGV[6])
local function get(field)
  return redis.call('HGET', key, field) or ''
end
if get(field) ~= present then
  return 0
end
for index = 7, #ARGV, 2 do
  if get(ARGV[index]) == ARGV[index + 1] then
    redis.call('HDEL', key, ARGV[index])
  end
end
-- The edition is a field, too.
if present == '' and redis.call('HLEN', key) - redis.call('HEXISTS', key, 'edition') >= most then
  return 0
end
redis.call('HSET', key, field, value)
redis.call('HINCRBY', key, 'edition', 1)
return 1
