-- A part of a user's list, newest first, as it is at one moment.
--
--   ARGV[2]  the user, decimal
--   ARGV[3]  the horizon
--   ARGV[4]  how many records are wanted at most
--   ARGV[5]  '' or the place after which to go on: at and content, 16 bytes
--   ARGV[6]  the kinds that are wanted, 2 bytes each; '' = all
--
-- Answers with the place after which to go on, '' = there is no more; with the number of members that were looked at; with
-- the user's head; then with contents and their rows in turn, without the one in the head.

-- Members that are looked at in one call, so that other clients wait no longer; and at one time.
local LOOKED_AT_MAX, CHUNK_MIN, CHUNK_MAX = 256, 16, 64
local rows, timeline = tag .. ':r:' .. ARGV[2], tag .. ':t:' .. ARGV[2]
local oldest, wanted = tonumber(ARGV[3]), tonumber(ARGV[4])
local WATERMARK = 17
local head = redis.call('GET', tag .. ':h:' .. ARGV[2])
if head then
  oldest = math.max(oldest, struct.unpack('>I6', head, WATERMARK) + 1)
end

local kinds
for place = 1, #ARGV[6], 2 do
  kinds = kinds or {}
  kinds[string.sub(ARGV[6], place, place + 1)] = true
end

-- Of two strings of ten bytes: one < other, whatever the locale of the server.
local function smaller(one, other)
  for place = 1, #one do
    local less = string.byte(other, place) - string.byte(one, place)
    if less ~= 0 then
      return less > 0
    end
  end
end

local after_at, after_content
local from, found = 0, { '', 0, head or '' }
if ARGV[5] ~= '' then
  after_at, after_content = struct.unpack('>I6c10', ARGV[5])
  from = redis.call('ZCOUNT', timeline, '(' .. after_at, '+inf')
  -- Any number of contents may have that very moment.
  if tonumber(redis.call('ZSCORE', timeline, after_content) or -1) == after_at then
    from = redis.call('ZREVRANK', timeline, after_content) + 1
  end
end
-- Without kinds, most of the newest are wanted.
local chunk = kinds and CHUNK_MAX or math.max(CHUNK_MIN, math.min(CHUNK_MAX, wanted))
while true do
  local members = redis.call('ZREVRANGE', timeline, from, from + chunk - 1, 'WITHSCORES')
  local contents, is_last = {}, #members < 2 * chunk
  for place = 1, #members, 2 do
    local content, at = members[place], tonumber(members[place + 1])
    if at < oldest then
      -- All that follows is older still.
      is_last = true
      break
    end
    local comes = not after_at or at < after_at or smaller(content, after_content)
    -- What comes before does not count, or there would be no end of it.
    found[2] = found[2] + (comes and 1 or 0)
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
  if is_last then
    return found
  end
  from = from + chunk
  if found[2] >= LOOKED_AT_MAX then
    found[1] = struct.pack('>I6c10', tonumber(members[#members]), members[#members - 1])
    return found
  end
end
