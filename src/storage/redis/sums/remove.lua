-- Removes a flight, given by its number, from each shard that holds it.
--
--   ARGV[2]  the number

for _, tag in ipairs(tags) do
  local state = tag .. ':s'
  if redis.call('HGET', state, 'held') == ARGV[2] then
    redis.call('UNLINK', tag .. ':sf', tag .. ':sg')
    redis.call('HSET', state, 'removed', ARGV[2])
    redis.call('HDEL', state, 'held', 'began')
  end
end
return 1
