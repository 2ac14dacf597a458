-- The totals of all units together.
--
-- Answers owners, events, bytes, dead letters, events that fell out of these; owners that are failing, paused, whose tries
-- are used up, that are disabled; for how many milliseconds the owner that is due first in the quick line has been due; and
-- when the one that has failed for the longest time began to, or false.

local sums, waiting, failing_since = { 0, 0, 0, 0, 0, 0, 0, 0, 0 }, 0, false
for _, tag in ipairs(tags) do
  local found = call('HMGET', tag .. ':qs', 'owners', 'events', 'bytes', 'dead', 'dropped')
  found[6] = call('ZCARD', tag .. ':qf')
  for stopped = PAUSED, DISABLED do
    found[6 + stopped] = call('ZCOUNT', tag .. ':qx', stopped, stopped)
  end
  for index = 1, #sums do
    sums[index] = sums[index] + tonumber(found[index] or 0)
  end
  local first = call('ZRANGE', tag .. ':qc', 0, 0, 'WITHSCORES')
  if first[2] then
    waiting = math.max(waiting, now - tonumber(first[2]))
  end
  local began = call('ZRANGE', tag .. ':qf', 0, 0, 'WITHSCORES')[2]
  if began and (not failing_since or tonumber(began) < tonumber(failing_since)) then
    failing_since = began
  end
end
sums[#sums + 1] = waiting
sums[#sums + 1] = failing_since
return sums
