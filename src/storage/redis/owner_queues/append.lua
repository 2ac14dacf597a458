-- Queues events, and leases owners that had none.
--
--   ARGV[5]  leases that may be given
--   ARGV[6]  milliseconds that a lease lasts
--   then for each unit: its index, how many events, and how many owners; one with events of two parts counts twice
--   for each of its owners: its id, the incarnation that they are for, the version of the definition that the caller knows,
--   the part, how many, and for each event its offset and its text
--
-- Answers how many were queued, were there already, were left out, and went to the dead letters, and how many owners are
-- due now and were not leased; then for each lease: the index of the owner in the call, the fence, failing and last
-- failure, the definition unless it is known, and the number of the first event. The events of a lease are all that the
-- call has at this index.

local leases, lease_ms, number = tonumber(ARGV[5]), tonumber(ARGV[6]), nil
local queued, old, left_out, died, due = 0, 0, 0, 0, 0
local index, answer = 0, {}

-- Of an owner in the quick line that has no events and is not leased: it is not in the control queue.
local function lease(owner, known, first, at, newest)
  local fence, lease_end = text(number), text(now + lease_ms)
  number, leases = number + 1, leases - 1
  keep(owner, at, text(newest), 'f', fence, 'l', lease_end)
  call('ZADD', owner.tag .. QUICK, lease_end, owner.id)
  local definition = owner.more.v ~= known and call('GET', owner.tag .. ':qp:' .. owner.id)
  answer[#answer + 1] = { index, fence, owner.more.g or '', owner.more.h or '', definition, text(first) }
end

local function append(owner, known, part, first, count)
  local at_part = 'a:' .. part
  local newest = tonumber(owner.more[at_part] or 0)
  local entered, left = {}, false
  for at = first, first + 2 * count - 2, 2 do
    local offset = tonumber(ARGV[at])
    if offset <= newest then
      old = old + 1
    elseif owner.more.r then
      left, left_out = offset, left_out + 1
    else
      newest, entered[#entered + 1] = offset, ARGV[at + 1]
    end
  end
  if left and left > tonumber(call('HGET', owner.record, 'm:' .. part) or 0) then
    call('HSET', owner.record, 'm:' .. part, text(left))
  end
  if #entered == 0 then
    return
  end
  local first_number, is_idle = number, owner.events == 0 and owner.lease_end <= now and owner.state == 'active'
  enter(owner, number, entered)
  number, queued = number + #entered, queued + #entered
  local moved = shed(owner)
  died = died + moved
  if is_idle and owner.line == QUICK and leases > 0 and #entered == count and moved == 0 then
    lease(owner, known, first_number, at_part, newest)
  else
    keep(owner, at_part, text(newest))
    put_in(owner, false)
    due = due + (is_idle and 1 or 0)
  end
end

-- Returns where the next owner begins.
local function append_to(tag, at)
  local id, incarnation, known, part, count = unpack(ARGV, at, at + 4)
  local owner = read(tag, id, 'v', 'a:' .. part, 'r', 'g', 'h')
  index, count = index + 1, tonumber(count)
  if not owner.incarnation or owner.incarnation ~= incarnation or owner.state == 'disabled' then
    left_out = left_out + count
  else
    append(owner, known, part, at + 5, count)
  end
  return at + 5 + 2 * count
end

local at = 7
while at <= #ARGV do
  local tag, owners = tags[tonumber(ARGV[at])], tonumber(ARGV[at + 2])
  -- One for each event, and one for each lease.
  number = reserve(tag, tonumber(ARGV[at + 1]) + owners)
  at = at + 3
  for _ = 1, owners do
    at = append_to(tag, at)
  end
end
settle()
return { queued, old, left_out, died, due, unpack(answer) }
