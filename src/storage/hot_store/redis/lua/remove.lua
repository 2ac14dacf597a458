-- Takes claims out of the outboxes of shards. Their events are on the bus.
--
--   ARGV[2]  how many there are of each shard, 4 bytes each
--   ARGV[3…] the claims, shard by shard

local place = 2
for shard, tag in ipairs(tags) do
  for _ = 1, (struct.unpack('>I4', ARGV[2], 4 * shard - 3)) do
    place = place + 1
    redis.call('ZREM', tag .. ':o', ARGV[place])
  end
end
return place - 2
