-- Compares the tokens of users' heads, and writes what the gateway decided on them. The script decides nothing itself.
--
--   ARGV[2]  the number of this gateway's own subscriptions to each user, a byte each
--   ARGV[3]  the generations of counters that all users were decided for, '' = none; then for each user
--              its head's key; the token it must begin with, '' = no head; the new head, '' = nothing to write;
--              a channel to publish on, '' = no message
--   then     the number of guards; for each the user's index, an outbox, and the most entries it may have
--   then     the word count of other writes; for each the user's index, the number of words, the words of the command
--   then     writes after the heads, in the same form: removals, and additions that a repetition would make again
--
-- Answers with two lists and a number. The refused users: index, and the present head, false = no head, '' = no room in
-- the outbox, '?' = a key of the user has another type.
-- The followed users: the indexes of users whose channel has other subscribers than this gateway.
-- The number: 1 = all users are refused, since the generations have changed.

local TOKEN, WORDS = 16, 4
local call, sub = redis.call, string.sub
local users, keys = #ARGV[2], {}
for index = 1, users do
  keys[index] = ARGV[WORDS * index]
end
local heads, is_refused, refused, followed = call('MGET', unpack(keys)), {}, {}, {}
-- Every shard has new generations before they are counted in any, so one shard of the call is enough.
local pair = redis.pcall('GET', tag .. ':g')
-- While a slot moves, its node answers with an error about a key that is not there. Only without counters there is none.
if type(pair) == 'table' then
  pair = ''
end
local is_outdated = (pair or '') ~= ARGV[3]
local function refuse(index, head)
  is_refused[index] = true
  refused[#refused + 1], refused[#refused + 2] = index, head
end
for index = 1, users do
  local head = heads[index]
  -- MGET returns nothing for a key that is not a string.
  if not head and call('EXISTS', keys[index]) == 1 then
    refuse(index, '?')
  elseif is_outdated or (head and sub(head, 1, TOKEN) or '') ~= ARGV[WORDS * index + 1] then
    refuse(index, head)
  end
end

local at = 4 + WORDS * users
local guards_end = at + 3 * tonumber(ARGV[at])
for guard = at + 1, guards_end, 3 do
  local index = tonumber(ARGV[guard])
  if not is_refused[index] and call('ZCARD', ARGV[guard + 1]) > tonumber(ARGV[guard + 2]) then
    refuse(index, '')
  end
end

local function write(from, to)
  while from < to do
    local index, count = tonumber(ARGV[from]), tonumber(ARGV[from + 1])
    if not is_refused[index] then
      local answer = redis.pcall(unpack(ARGV, from + 2, from + 1 + count))
      local failure = type(answer) == 'table' and answer.err
      if failure and sub(failure, 1, 9) ~= 'WRONGTYPE' then
        error(failure)
      elseif failure then
        refuse(index, '?')
      end
    end
    from = from + 2 + count
  end
end
at = guards_end + 1
local removals = at + 1 + tonumber(ARGV[at])
write(at + 1, removals)

-- A row that leaves the head is written before the head, and a row that enters it is removed after it: if the script
-- breaks off, for lack of memory, nothing is lost, and the repetition does the rest. A view that is not added then is
-- lost, because its claim is stored already; it is never counted twice.
local channels, indexes = {}, {}
for index = 1, users do
  local head, channel = ARGV[WORDS * index + 2], ARGV[WORDS * index + 3]
  if not is_refused[index] and head ~= '' then
    call('SET', keys[index], head)
    if channel ~= '' then
      channels[#channels + 1], indexes[#indexes + 1] = channel, index
    end
  end
end
write(removals, #ARGV)
if #channels > 0 then
  local counts = call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
  for number, index in ipairs(indexes) do
    if counts[2 * number] > string.byte(ARGV[2], index) then
      followed[#followed + 1] = index
    end
  end
end
return { refused, followed, is_outdated and 1 or 0 }
