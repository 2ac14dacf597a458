-- Replaces the generations of counters, if they are still those that the gateway has read.
--
--   ARGV[2]  as they were read, '' = there were none; ARGV[3] the new ones
--
-- Answers 1 if they are the new ones now. A repeated call finds them.

local key = tag .. ':counters'
local present = redis.call('GET', key) or ''
if present == ARGV[3] then
  return 1
end
if present ~= ARGV[2] then
  return 0
end
redis.call('SET', key, ARGV[3])
return 1
