-- Returns the remembered totals of contents, and for the others the sums in their shard.
--
--   ARGV from 2 on: for each content the index of its shard in KEYS, and the content
--
-- Answers for each with its total, or with a list: the last flight of the shard, the flight that it holds or false, sum
-- and restart of the content in the flight, sum and restart among the pending ones, each or false.

local answers = {}
for at = 2, #ARGV, 2 do
  local tag, content = tags[tonumber(ARGV[at])], ARGV[at + 1]
  local answer = redis.call('HGET', tag .. ':v', content)
  if not answer then
    local last, held = unpack(redis.call('HMGET', tag .. ':s', 'last', 'held'))
    local flight = redis.call('HMGET', tag .. ':sf', content, content .. '!')
    local pending = redis.call('HMGET', tag .. ':sp', content, content .. '!')
    answer = { last or '0', held, flight[1], flight[2], pending[1], pending[2] }
  end
  answers[#answers + 1] = answer
end
return answers
