-- Owners of one unit.
--
--   ARGV[5] …  their ids
--
-- Answers for each its version, and if there is such an owner: its incarnation, state, failing, last failure, definition,
-- how many events are queued, when the oldest was (microseconds) or false, in how many milliseconds it is due or false,
-- how many were delivered, how many are dead letters, and whether its queue is being filled.

local function owner_of(id)
  local owner = read(tag, id, 'v', 'g', 'h', 'c', 'y', 'r')
  local version = owner.more.v or '0'
  if not owner.incarnation then
    return { version }
  end
  local oldest, due = false, false
  if owner.events > 0 then
    oldest = look_at(call('LINDEX', owner.queue, 0))
    due = call('ZSCORE', tag .. owner.line, id)
    -- While a lease lasts, a try is going on.
    due = due and owner.lease_end <= now and math.max(0, tonumber(due) - now)
  end
  return {
    version, owner.incarnation, owner.state, owner.more.g or '', owner.more.h or '',
    call('GET', tag .. ':qp:' .. id), owner.events, oldest, due, owner.more.c or 0,
    owner.more.y or 0, owner.more.r and 1 or 0,
  }
end

local answer = {}
for at = 5, #ARGV do
  answer[#answer + 1] = owner_of(ARGV[at])
end
return answer
