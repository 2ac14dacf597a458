-- Holds ids for requests to direct counters: the key of a request may be in another shard than that of the id.
--
--   ARGV[2]  milliseconds for which an id is held
--   ARGV[3]  milliseconds after which their keys go, by the clock of Redis
--   then for each: the index of its shard in KEYS, the counter, the id, the time in milliseconds, 'hold' or 'release',
--   a word of this request alone, and what it asks for
--
-- Answers each with 1; with 0 if the id is held for a request that asks for something else.

local FIRST, WORDS = 4, 7
local call = redis.call
local held_ms, expire_ms = tonumber(ARGV[2]), ARGV[3]

local function hold(tag, counter, id, now, what, request, asked)
  local hold_key = tag .. ':ch:' .. counter .. ':' .. id
  local held, at, holder, of = call('GET', hold_key)
  if held then
    at, holder, of = string.match(held, '^(%S+) (%S+) (.*)$')
  end
  if what == 'release' then
    if holder == request then
      call('DEL', hold_key)
    end
    return 1
  end
  if at and tonumber(now) - tonumber(at) < held_ms then
    if of ~= asked then
      return 0
    end
    -- As long as before: the request may be remembered already.
    call('SET', hold_key, at .. ' ' .. request .. ' ' .. asked, 'KEEPTTL')
    return 1
  end
  call('SET', hold_key, now .. ' ' .. request .. ' ' .. asked, 'PX', expire_ms)
  return 1
end

local answers = {}
for at = FIRST, #ARGV, WORDS do
  local tag = tags[tonumber(ARGV[at])]
  answers[#answers + 1] = hold(tag, unpack(ARGV, at + 1, at + WORDS - 1))
end
return answers
