-- Removes a revocation. KEYS[1] is {h<shard>}:deployment. ARGV: the deployment, the key of the list, field.

if redis.call('GET', KEYS[1]) ~= ARGV[1] then
  return redis.error_reply('WIPED ' .. KEYS[1] .. ' is missing, or of another deployment')
end
if redis.call('HDEL', ARGV[2], ARGV[3]) == 1 then
  redis.call('HINCRBY', ARGV[2], 'edition', 1)
end
return 1
