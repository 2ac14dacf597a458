-- Steps of direct counters. Of each, the value, the counts of crossed thresholds, the entries in the outbox and the id of
-- the request change together, or nothing does.
--
--   ARGV[2]  entries that the outbox of a shard may hold
--   ARGV[3]  milliseconds for which ids are remembered
--   ARGV[4]  milliseconds after which their keys go, by the clock of Redis
--   then for each step: the index of its shard in KEYS, the counter, the key, the id ('' = none), the time in
--   milliseconds, what is added ('reset' = back to the initial value), the initial value, the least and the greatest,
--   the thresholds in ascending order with spaces between them, the beginning of an entry of the outbox
--
-- Answers for each: what became of it, the value or false, and the thresholds that were crossed, each with its count
--   'done'
--   'repeated'  the id is remembered: the value is that of then
--   'reused'    the id is remembered of another request
--   'bounds'    the value as it is
--   'full'      the outbox has no room for the crossings

local FIRST, WORDS = 5, 11
local call = redis.call
local room, remembered_ms, expire_ms = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

-- All numbers are exact: they stay within 2^53, and so do the sums that are compared with bounds.
local function text(number)
  return number == 0 and '0' or string.format('%.0f', number)
end

-- A text in a protobuf message, shorter than 128 bytes.
local function field(tag, value)
  return string.char(tag, #value) .. value
end

local function step(tag, counter, key, id, now, by, initial, least, greatest, thresholds, entry)
  local values, outbox, request = tag .. ':cv:' .. counter, tag .. ':o', tag .. ':cr:' .. counter .. ':' .. id
  if by == 'reset' then
    call('ZREM', values, key)
    return 'done', tonumber(initial), {}
  end
  local done = id ~= '' and call('GET', request)
  if done then
    local at, done_by, value, done_key = string.match(done, '^(%S+) (%S+) (%S+) (.*)$')
    if tonumber(now) - tonumber(at) < remembered_ms then
      if done_by == by and done_key == key then
        return 'repeated', tonumber(value), {}
      end
      return 'reused', false, {}
    end
  end
  -- The score is the negated value, so that the largest come first.
  local score, added = call('ZSCORE', values, key), tonumber(by)
  local before = score and -tonumber(score) or tonumber(initial)
  local after = before + added
  if added > 0 and after > tonumber(greatest) or added < 0 and after < tonumber(least) then
    return 'bounds', before, {}
  end
  local reached = {}
  for threshold in string.gmatch(thresholds, '%S+') do
    if before < tonumber(threshold) and tonumber(threshold) <= after then
      reached[#reached + 1] = threshold
    end
  end
  if #reached > 0 and call('ZCARD', outbox) + #reached > room then
    return 'full', before, {}
  end
  call('ZADD', values, text(-after), key)
  local crossed = {}
  for _, threshold in ipairs(reached) do
    local n = call('HINCRBY', tag .. ':cx:' .. counter, threshold .. ' ' .. key, 1)
    call('ZADD', outbox, now, entry .. field(106, threshold) .. field(114, text(n)) .. field(122, text(after)))
    crossed[#crossed + 1], crossed[#crossed + 2] = threshold, n
  end
  if id ~= '' then
    call('SET', request, now .. ' ' .. by .. ' ' .. text(after) .. ' ' .. key, 'PX', expire_ms)
  end
  return 'done', after, crossed
end

local answers = {}
for at = FIRST, #ARGV, WORDS do
  local tag = tags[tonumber(ARGV[at])]
  answers[#answers + 1] = { step(tag, unpack(ARGV, at + 1, at + WORDS - 1)) }
end
return answers
