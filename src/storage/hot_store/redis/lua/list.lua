-- A part of a user's list, newest first, as it is at one moment.
--
--   ARGV[2]  the user, decimal
--   ARGV[3]  the horizon
--   ARGV[4]  how many records are wanted at most
--   ARGV[5]  '' or the place after which to go on: at and content, 16 bytes
--   ARGV[6]  the kinds that are wanted, 2 bytes each; '' = all
--
-- Answers with the place after which to go on, '' = there is no more; then contents and their rows in turn.

-- Members that are looked at in one call, and at one time.
local LOOKED_AT_MAX, CHUNK = 2048, 64
local rows, timeline = tag .. ':r:' .. ARGV[2], tag .. ':t:' .. ARGV[2]
local oldest, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])
local user = redis.call('GET', tag .. ':u:' .. ARGV[2])
if user then
  oldest = math.max(oldest, struct.unpack('>I6', user) + 1)
end

local kinds
for place = 1, #ARGV[6], 2 do
  kinds = kinds or {}
  kinds[string.sub(ARGV[6], place, place + 1)] = true
end

-- Of two strings of ten bytes: one < other, whatever the locale of the server.
local function smaller(one, other)
  local one_kind, one_high, one_low = struct.unpack('>HI4I4', one)
  local other_kind, other_high, other_low = struct.unpack('>HI4I4', other)
  if one_kind ~= other_kind then
    return one_kind < other_kind
  elseif one_high ~= other_high then
    return one_high < other_high
  end
  return one_low < other_low
end

local after_at, after_content
local from, found = 0, { '' }
if ARGV[5] ~= '' then
  after_at, after_content = struct.unpack('>I6c10', ARGV[5])
  from = redis.call('ZCOUNT', timeline, '(' .. after_at, '+inf')
end
for looked_at = CHUNK, LOOKED_AT_MAX, CHUNK do
  local members = redis.call('ZREVRANGE', timeline, from, from + CHUNK - 1, 'WITHSCORES')
  local contents = {}
  for place = 1, #members, 2 do
    local content, at = members[place], tonumber(members[place + 1])
    if at < oldest then
      -- All that follows is older still.
      members = {}
      break
    end
    local comes = not after_at or at < after_at or smaller(content, after_content)
    if comes and (not kinds or kinds[string.sub(content, 1, 2)]) then
      contents[#contents + 1] = content
    end
  end
  if #contents > 0 then
    for place, row in ipairs(redis.call('HMGET', rows, unpack(contents))) do
      -- With a state; a tombstone alone is nothing to show.
      if row and string.byte(row) % 8 > 0 then
        found[#found + 1], found[#found + 2] = contents[place], row
        wanted = wanted - 1
        if wanted == 0 then
          return found
        end
      end
    end
  end
  if #members < 2 * CHUNK then
    return found
  end
  from = from + CHUNK
  if looked_at == LOOKED_AT_MAX then
    found[1] = struct.pack('>I6c10', tonumber(members[#members]), members[#members - 1])
  end
end
return found
