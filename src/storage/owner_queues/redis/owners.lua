-- Owners of one unit.
--
--   ARGV[5] …  their ids
--
-- Answers for each its version, and if there is such an owner: its incarnation, state, failing, last failure, definition,
-- how many events are queued, when the oldest was (microseconds) or false, in how many milliseconds it is due or false,
-- how many were delivered, how many are dead letters, and whether its queue is being filled.

local function owner_of(id)
  local owner = read(tag, id, 'g', 'h')
  if not owner.incarnation then
    return { owner.version }
  end
  local oldest, due = false, false
  if owner.events > 0 then
    oldest = look_at(call('LINDEX', owner.queue, 0))
    due = call('ZSCORE', tag .. ':qc', id)
    -- While a lease lasts, a try is going on.
    due = due and owner.lease_end <= now and math.max(0, tonumber(due) - now)
  end
  return {
    owner.version, owner.incarnation, owner.state, owner.more[1] or '', owner.more[2] or '',
    call('GET', tag .. ':qp:' .. id), owner.events, oldest, due, call('HGET', owner.record, 'c') or 0,
    owner.dead_events, owner.replaying and 1 or 0,
  }
end

local answer = {}
for at = 5, #ARGV do
  answer[#answer + 1] = owner_of(ARGV[at])
end
return answer
