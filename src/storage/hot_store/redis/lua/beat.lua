-- Which beat wins: the same as `model::rule::decide` and what a store adds to it. `answer.rs` reads the answers.
--
-- A beat comes with the row that it becomes if its credit begins with it. If it goes on instead, the credit of the former
-- row takes the place of that in the new one.

local WRITTEN, SAME, NOT_RECORDING, SUPERSEDED = 0, 1, 2, 3
-- Beside the answer WRITTEN: the credit goes on, and its version follows, as in the row.
local GOES_ON, HAS_ABOVE = 8, 16
local BEAT, DAY_MS = 66, 86400000
-- Of a user's row: where the switches of recording begin. Of a row's flags: what is not the state begins here.
local SWITCHES, STATES = 19, 8
-- Of a row with a record: where its credit begins, and the byte that says how much of that follows.
local CREDIT, BASE = 16, 24

local call, write = redis.call, struct.pack
local byte, char, sub, max = string.byte, string.char, string.sub, math.max

local parts
local answers = {}
-- Of whom other gateways have to hear, and which changes those are.
local channels, changes = {}, {}
for number = 1, #tags do
  local change, user, answer, is_news, mid = ARGV[begin - 1 + number], users[shards + number], nil, false, nil
  tag = tags[number]
  if byte(change) ~= BEAT then
    parts = parts or seldom()
    answer, is_news = parts.forget(change, user)
    mid = read('xBc0', change)
  else
    local content, at_text, asks, place
    mid, content, at_text, asks, place = read('>xBc0c10Bc0I4c0', change)
    local row = sub(change, place)
    local at, session = read('>I6c8', row, 2)
    user = written_users and written_users[mid] or user
    local watermark, floor, switches, paused = 0, 0, false, false
    if user then
      watermark, floor = read('>I6I6', user)
      switches = #user >= SWITCHES
      if switches then
        parts = parts or seldom()
        paused = parts.covers(user, at)
      end
    end

    local rows, timeline = tag .. ':r:' .. mid, tag .. ':t:' .. mid
    local old = call('HGET', rows, content)
    local old_at, old_session, old_day, behind = -1, nil, nil, 2
    local last, tombstone_at, tombstone_version, claims = 0, -1, 0, ''
    if old then
      local flags = byte(old)
      if flags % STATES > 0 then
        old_at, old_session, old_day = read('>I6c8H', old, 2)
        behind = BASE + 1 + byte(old, BASE)
        last, floor = old_at * 1000, 0
      end
      if flags >= STATES then
        local above
        parts = parts or seldom()
        above, tombstone_at, tombstone_version, claims = parts.optional_parts(old, flags, behind)
        last = max(last + above, tombstone_version)
      end
    end

    local live = old_at > watermark and old_at >= horizon
    local former = live and old or ''
    if paused then
      answer = char(NOT_RECORDING)
    elseif at <= max(watermark, tombstone_at, floor) then
      answer = char(SUPERSEDED) .. former
    elseif live and at <= old_at then
      if at == old_at and session == old_session then
        answer = char(SAME)
      else
        parts = parts or seldom()
        if at < old_at or parts.greater(old_session, session) then
          answer = char(SUPERSEDED) .. former
        end
      end
    elseif not old then
      parts = parts or seldom()
      if not parts.make_room(user, mid, rows, timeline, at) then
        answer = char(SUPERSEDED)
      end
    end

    if not answer then
      local code, above, decided, extra = WRITTEN, last + 1 - at * 1000, '', ''
      if live and session == old_session and old_day == day
        and not (switches and parts.paused_between(user, old_at, at)) then
        code = code + GOES_ON
        row = sub(row, 1, CREDIT - 1) .. sub(old, CREDIT, behind - 1) .. sub(row, BASE + 1 + byte(row, BASE))
      end
      if old_day ~= day then
        claims = ''
      end
      if asks ~= '' then
        parts = parts or seldom()
        decided, claims = parts.reward(asks, mid, content, sub(row, CREDIT), claims)
      end
      if above > 0 then
        code, extra = code + HAS_ABOVE, write('>I7', above)
      end
      if above > 0 or tombstone_at >= 0 or claims ~= '' then
        parts = parts or seldom()
        behind = BASE + 1 + byte(row, BASE)
        local head, rest = sub(row, 2, behind - 1), sub(row, behind)
        row = parts.row_of(byte(row), head, above, tombstone_at, tombstone_version, claims, rest)
      end
      call('HSET', rows, content, row)
      call('ZADD', timeline, at_text, content)
      -- Once a day and content is enough: they are kept for more than a day longer than the retention.
      if old_at < 0 or at - at % DAY_MS ~= old_at - old_at % DAY_MS then
        parts = parts or seldom()
        parts.keep(rows, timeline)
      end
      answer, is_news = char(code) .. extra .. char(#decided) .. decided .. former, true
    end
  end
  answers[number] = answer
  if is_news then
    channels[#channels + 1] = tag .. ':n:' .. mid
    changes[#changes + 1] = number
  end
end

-- Those that have a connection of a user subscribe to his channel.
local followers = {}
for place = 1, #answers do
  followers[place] = '\0'
end
if #channels > 0 then
  local found = call('PUBSUB', 'SHARDNUMSUB', unpack(channels))
  for place, change in ipairs(changes) do
    local count = found[2 * place]
    followers[change] = char(count > 255 and 255 or count)
  end
end
answers[#answers + 1] = table.concat(followers)
return answers
