-- Queues events from the log in a queue that is being filled.
--
--   ARGV[5]  the id
--   ARGV[6]  the version of the owner
--   ARGV[7]  the part
--   ARGV[8], [9]  the offsets between which the events are, and up to which the part was read
--   ARGV[10] '1' if there was no more in the part
--   ARGV[11] how many parts the bus has
--   then their names, and for each event its offset and its text
--
-- Queues as many as there is room for. Answers 'more'; 'full' if some have no room; 'over' if the queue has everything;
-- 'moved' if owner or queue are no longer those.

local part = ARGV[7]
local owner = read(tag, ARGV[5], 'v', 'r', 'a:' .. part)
if not owner.incarnation or not owner.more.r or owner.state == 'disabled' or owner.more.v ~= ARGV[6] or
    tonumber(owner.more['a:' .. part] or 0) ~= tonumber(ARGV[8]) then
  return 'moved'
end
local events, bytes, reached, is_full = {}, owner.bytes, ARGV[9], false
local parts = tonumber(ARGV[11])
for at = 12 + parts, #ARGV, 2 do
  local event, queued = ARGV[at + 1], owner.events + #events
  bytes = bytes + #event
  if queued >= events_max or queued > 0 and bytes > bytes_max then
    reached, is_full = #events > 0 and ARGV[at - 2] or ARGV[8], true
    break
  end
  events[#events + 1] = event
end
if #events > 0 then
  enter(owner, reserve(tag, #events), events)
end
keep(owner, 'a:' .. part, reached)
put_in(owner, false)
settle()
if is_full then
  return 'full'
elseif ARGV[10] == '1' then
  call('HSET', owner.record, 'e:' .. part, 1)
end

-- Whether each part was read to its end, and to what was left out.
local function is_over()
  for at = 12, 11 + parts do
    local of = ARGV[at]
    local f = call('HMGET', owner.record, 'e:' .. of, 'm:' .. of, 'a:' .. of)
    if not f[1] or tonumber(f[3] or 0) < tonumber(f[2] or 0) then
      return false
    end
  end
  return true
end

if not is_over() then
  return 'more'
end
for _, field in ipairs(call('HKEYS', owner.record)) do
  if string.find(field, '^[me]:') or field == 'r' then
    call('HDEL', owner.record, field)
  end
end
call('SREM', tag .. ':qr', owner.id)
return 'over'
