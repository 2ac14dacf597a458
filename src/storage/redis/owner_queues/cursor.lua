-- Moves how far a part was read. A lower offset changes nothing.
--
--   ARGV[2]  the part
--   ARGV[3]  the offset

local key = tag .. ':qk'
if tonumber(redis.call('HGET', key, ARGV[2]) or 0) < tonumber(ARGV[3]) then
  redis.call('HSET', key, ARGV[2], ARGV[3])
end
return 1
