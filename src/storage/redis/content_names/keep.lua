-- Keeps texts of contents of the shard.
--
--   ARGV[2]  for how long, milliseconds; 0: for good
--   ARGV[3], ARGV[4], …  number and text of each
--
-- Answers with the text that has each number.

local texts = {}
for index = 3, #ARGV, 2 do
  local key = tag .. ':content:' .. ARGV[index]
  redis.call('SET', key, ARGV[index + 1], 'NX')
  if ARGV[2] ~= '0' then
    redis.call('PEXPIRE', key, ARGV[2])
  else
    redis.call('PERSIST', key)
  end
  texts[#texts + 1] = redis.call('GET', key)
end
return texts
