-- The totals of all units together.
--
-- Answers owners, events, bytes, dead letters, events that fell out of these, and for how many milliseconds the owner that
-- is due first in the quick line has been due.

local sums, waiting = { 0, 0, 0, 0, 0 }, 0
for _, tag in ipairs(tags) do
  local found = call('HMGET', tag .. ':qs', 'owners', 'events', 'bytes', 'dead', 'dropped')
  for place = 1, #sums do
    sums[place] = sums[place] + tonumber(found[place] or 0)
  end
  local first = call('ZRANGE', tag .. ':qc', 0, 0, 'WITHSCORES')
  if first[2] then
    waiting = math.max(waiting, now - tonumber(first[2]))
  end
end
sums[#sums + 1] = waiting
return sums
