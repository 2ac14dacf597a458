-- For each shard, answers 1 if it holds a deletion of the views of a content that is not known to be written, else 0.
--
--   ARGV[2]  the content

local answers = {}
for index, tag in ipairs(tags) do
  local there = redis.call('HEXISTS', tag .. ':sp', ARGV[2] .. '!') + redis.call('HEXISTS', tag .. ':sf', ARGV[2] .. '!')
  answers[index] = math.min(there, 1)
end
return answers
