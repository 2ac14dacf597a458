-- Compares the tokens of users' heads and writes what was decided on them. Nothing is decided here.
--
--   ARGV[2]  how often this gateway itself follows each user, a byte each; then for each user
--              its head's key; the token it must begin with, '' = there is none; the new head, '' = nothing to write;
--              a channel, '' = nobody has to hear of it
--   then     how many guards; for each the user's place, an outbox, and more entries than which it may not hold
--   then     how many words of other writes; for each the user's place, how many words, the words of the command
--   then     removals, in the same form
--
-- Answers with two lists. The refused: place, and the present head, false = there is none, '' = no room in the outbox,
-- '?' = a key of the user has another type.
-- The followed: the places of users whose channel more have subscribed to than this gateway.

local TOKEN, WORDS = 16, 4
local call, sub = redis.call, string.sub
local users, keys = #ARGV[2], {}
for place = 1, users do
  keys[place] = ARGV[WORDS * place - 1]
end
local heads, is_refused, refused, followed = call('MGET', unpack(keys)), {}, {}, {}
local function refuse(place, head)
  is_refused[place] = true
  refused[#refused + 1], refused[#refused + 2] = place, head
end
for place = 1, users do
  local head = heads[place]
  -- MGET finds nothing where there is no string.
  if not head and call('EXISTS', keys[place]) == 1 then
    refuse(place, '?')
  elseif (head and sub(head, 1, TOKEN) or '') ~= ARGV[WORDS * place] then
    refuse(place, head)
  end
end

local at = 3 + WORDS * users
local guards_end = at + 3 * tonumber(ARGV[at])
for guard = at + 1, guards_end, 3 do
  local place = tonumber(ARGV[guard])
  if not is_refused[place] and call('ZCARD', ARGV[guard + 1]) > tonumber(ARGV[guard + 2]) then
    refuse(place, '')
  end
end

local function write(from, to)
  while from < to do
    local place, count = tonumber(ARGV[from]), tonumber(ARGV[from + 1])
    if not is_refused[place] then
      local answer = redis.pcall(unpack(ARGV, from + 2, from + 1 + count))
      local failure = type(answer) == 'table' and answer.err
      if failure and sub(failure, 1, 9) ~= 'WRONGTYPE' then
        error(failure)
      elseif failure then
        refuse(place, '?')
      end
    end
    from = from + 2 + count
  end
end
at = guards_end + 1
local removals = at + 1 + tonumber(ARGV[at])
write(at + 1, removals)

-- Heads come after what they no longer hold, and removals after the heads that hold it now: should the script break off, as
-- it does when there is no memory, nothing is lost, and the repetition does the rest.
local channels, places = {}, {}
for place = 1, users do
  local head, channel = ARGV[WORDS * place + 1], ARGV[WORDS * place + 2]
  if not is_refused[place] and head ~= '' then
    call('SET', keys[place], head)
    if channel ~= '' then
      channels[#channels + 1], places[#places + 1] = channel, place
    end
  end
end
write(removals, #ARGV)
if #channels > 0 then
  local counts = call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
  for number, place in ipairs(places) do
    if counts[2 * number] > string.byte(ARGV[2], place) then
      followed[#followed + 1] = place
    end
  end
end
return { refused, followed }
