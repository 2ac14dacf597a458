-- Puts a field into a hash of the shard.
--
--   ARGV[2]  the hash, after the tag
--   ARGV[3]  the field
--   ARGV[4]  the value
--   ARGV[5]  `new`: only if there is no such field
--
-- Answers with the value that is there now.

local key = tag .. ARGV[2]
if ARGV[5] == 'new' then
  redis.call('HSETNX', key, ARGV[3], ARGV[4])
else
  redis.call('HSET', key, ARGV[3], ARGV[4])
end
return redis.call('HGET', key, ARGV[3])
