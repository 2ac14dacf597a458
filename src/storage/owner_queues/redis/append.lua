-- Queues events of one part.
--
--   ARGV[5]  the part
--   then for each unit: its place, how many events, and how many owners
--   for each of its owners: its id, the incarnation that they are for, how many, and for each event its offset and its text
--
-- Answers how many were queued, were there already, were left out, and went to the dead letters.

local part, number = ARGV[5], nil
local queued, old, left_out, died = 0, 0, 0, 0

local function append(owner, first, count)
  local newest = tonumber(owner.more[1] or 0)
  local entered, left = {}, false
  for at = first, first + 2 * count - 2, 2 do
    local offset = tonumber(ARGV[at])
    if offset <= newest then
      old = old + 1
    elseif owner.replaying then
      left, left_out = offset, left_out + 1
    else
      newest, entered[#entered + 1] = offset, ARGV[at + 1]
    end
  end
  if left and left > tonumber(owner.more[2] or 0) then
    call('HSET', owner.record, 'm:' .. part, text(left))
  end
  if #entered > 0 then
    enter(owner, number, entered)
    number, queued, died = number + #entered, queued + #entered, died + shed(owner)
    keep(owner, 'a:' .. part, text(newest))
    put_in(owner, false)
  end
end

-- Returns where the next owner begins.
local function append_to(tag, at)
  local owner, count = read(tag, ARGV[at], 'a:' .. part, 'm:' .. part), tonumber(ARGV[at + 2])
  if not owner.incarnation or owner.incarnation ~= ARGV[at + 1] or owner.state == 'disabled' then
    left_out = left_out + count
  else
    append(owner, at + 3, count)
  end
  return at + 3 + 2 * count
end

local at = 6
while at <= #ARGV do
  local tag, owners = tags[tonumber(ARGV[at])], tonumber(ARGV[at + 2])
  number = reserve(tag, tonumber(ARGV[at + 1]))
  at = at + 3
  for _ = 1, owners do
    at = append_to(tag, at)
  end
end
settle()
return { queued, old, left_out, died }
