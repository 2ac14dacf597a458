-- How many claims wait in the outboxes of shards, and the oldest of them.
--
--   ARGV[2]  no newer ones than this, a score
--   ARGV[3]  no more than so many
--
-- Answers with the number of all, and then those.

local found, left = { 0 }, tonumber(ARGV[3])
for _, tag in ipairs(tags) do
  local key = tag .. ':o'
  local count = redis.call('ZCARD', key)
  found[1] = found[1] + count
  if count > 0 and left > 0 then
    local oldest = redis.call('ZRANGEBYSCORE', key, '-inf', ARGV[2], 'LIMIT', 0, left)
    left = left - #oldest
    for _, claim in ipairs(oldest) do
      found[#found + 1] = claim
    end
  end
end
return found
