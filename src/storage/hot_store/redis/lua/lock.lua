-- Takes or holds {h0}:takeover: whoever has it publishes what others left in the outboxes. It expires by itself.
--
--   ARGV     after the first, who asks; for how many milliseconds
--
-- Answers 1 if whoever asks has it now.

local key = tag .. ':takeover'
local holder = redis.call('GET', key)
if holder and holder ~= ARGV[2] then
  return 0
end
redis.call('SET', key, ARGV[2], 'PX', ARGV[3])
return 1
