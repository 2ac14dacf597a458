-- Queues the oldest dead letters, as many as there is room for.
--
--   ARGV[5]  the id
--   ARGV[6]  how many at most
--
-- Answers how many these were, and whether there may be more; false if there is no such owner.

local owner, limit = read(tag, ARGV[5]), math.min(tonumber(ARGV[6]), PAGE)
if not owner.incarnation then
  return false
end
count_dead(owner)
local entries = {}
if owner.state ~= 'disabled' and owner.dead_events > 0 then
  entries = call('XRANGE', owner.dead, '-', '+', 'COUNT', limit)
end
local events, bytes = {}, owner.bytes
for _, letter in ipairs(entries) do
  local event, queued = letter[2][2], owner.events + #events
  bytes = bytes + #event
  if queued >= events_max or queued > 0 and bytes > bytes_max then
    break
  end
  events[#events + 1] = event
  owner.dead_events, owner.dead_bytes = owner.dead_events - 1, owner.dead_bytes - #event
end
local sent = #events
if sent > 0 then
  enter(owner, reserve(tag, sent), events)
  call('XTRIM', owner.dead, 'MINID', '=', entry_id(id_of(entries[sent]) + 1))
  if owner.dead_events == 0 then
    call('DEL', owner.dead)
  end
  keep(owner)
  put_in(owner, false)
  settle()
end
return { sent, sent > 0 and sent == limit and 1 or 0 }
