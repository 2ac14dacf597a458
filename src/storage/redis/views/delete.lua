-- Drops what is pending of the views of a content, unless a flight has begun since the last flights were read. In the
-- content's own shard, also says that its stored views go.
--
--   ARGV[2]  the content
--   ARGV[3]  in the content's own shard: the time, milliseconds; elsewhere empty
--   ARGV[4]  in the content's own shard: flights up to this number may have views from before; elsewhere empty
--   then for each shard of KEYS the number of its last flight when it was read
--
-- Answers for each shard with 1, or with 0 if a flight has begun: then nothing was changed there.

local content, now, before, answers = ARGV[2], ARGV[3], tonumber(ARGV[4]), {}

local function drop(tag, pending)
  -- A flight that took a part of what was pending may have the views of the content, and its days not.
  if redis.call('EXISTS', pending) == 0 then
    return
  end
  local fields = { content, content .. '!' }
  for _, day in ipairs(redis.call('SMEMBERS', tag .. ':sd')) do
    fields[#fields + 1] = content .. ':' .. day
  end
  redis.call('HDEL', pending, unpack(fields))
  if redis.call('EXISTS', pending, tag .. ':sc') == 0 then
    redis.call('UNLINK', tag .. ':sd')
    redis.call('HDEL', tag .. ':s', 'since', 'urgent')
  end
end

-- The mark goes with a flight that is later than all views from before: the shard gives nothing to earlier ones.
local function mark(tag, pending, last)
  local state = tag .. ':s'
  redis.call('HDEL', tag .. ':v', content)
  redis.call('HSET', pending, content, 0, content .. '!', 1)
  redis.call('HSETNX', state, 'since', now)
  redis.call('HSET', state, 'urgent', 1)
  if tonumber(last) < before then
    redis.call('HSETNX', state, 'taken', last)
    redis.call('HSET', state, 'last', ARGV[4])
  end
end

for index, tag in ipairs(tags) do
  local last, pending = redis.call('HGET', tag .. ':s', 'last') or '0', tag .. ':sp'
  if last ~= ARGV[4 + index] then
    answers[index] = 0
  else
    drop(tag, pending)
    if before then
      mark(tag, pending, last)
    end
    answers[index] = 1
  end
end
return answers
