-- Deletes the views of a content, unless a flight has begun since the last flights were read.
--
--   ARGV[2]  the content
--   ARGV[3]  the time, milliseconds
--   then for each shard of KEYS the number of its last flight when it was read
--
-- Answers for each shard with 1, or with 0 if a flight has begun: then nothing was changed there.

local content, answers = ARGV[2], {}
local days = content .. ':'
for place, tag in ipairs(tags) do
  local state, pending = tag .. ':s', tag .. ':sp'
  if (redis.call('HGET', state, 'last') or '0') ~= ARGV[3 + place] then
    answers[place] = 0
  else
    redis.call('HDEL', tag .. ':v', content)
    -- Without pending views of the content, none of its days are pending.
    local fields = redis.call('HEXISTS', pending, content) == 1 and redis.call('HKEYS', pending) or {}
    for _, field in ipairs(fields) do
      if string.sub(field, 1, #days) == days then
        redis.call('HDEL', pending, field)
      end
    end
    redis.call('HSET', pending, content, 0, content .. '!', 1)
    redis.call('HSETNX', state, 'since', ARGV[3])
    answers[place] = 1
  end
end
return answers
