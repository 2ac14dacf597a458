-- Ends leases, each if it still is the last one of its owner, and gives the next ones of owners that have more.
--
--   from ARGV[9] on, for each lease: the index of its unit, and
--     the id
--     the fence of the lease
--     the number up to which everything was delivered, or ''
--     how many events these were
--     state, failing and last failure
--     '1' if a try was slow
--     milliseconds until the owner is due again
--     '1' if it may have the next lease at once
--
-- Answers for each: 0 if the lease is not the last one; 1 if it was ended, also if before, and the owner waits for nothing;
-- 2 if it waits in the control queue; or its next lease.

-- `count`: entries of the lease. Some may have fallen out of the queue since; those after them go back.
local function remove_to(owner, last, count)
  local back = {}
  for _, entry in ipairs(call('LPOP', owner.queue, count) or {}) do
    local number, bytes = look_at(entry)
    if number > last then
      table.insert(back, 1, entry)
    else
      owner.events, owner.bytes = owner.events - 1, owner.bytes - bytes
    end
  end
  if #back > 0 then
    call('LPUSH', owner.queue, unpack(back))
  end
end

-- Whether the lease is the last one. A void one lets go what waits for its end: nothing begins under it any more.
local function is_last(owner, fence)
  if not owner.fence and owner.more.x == fence then
    call('HDEL', owner.record, 'l', 'x')
    owner.lease_end = 0
    put_in(owner, true)
  end
  return owner.incarnation and owner.fence == fence
end

-- Takes over how the tries went. What the API has changed since the lease was given stays. Returns in how many milliseconds
-- the owner is due again.
local function take_over(owner, fence, state, failing, failure, slow, pause)
  if tonumber(owner.more.k or 0) >= tonumber(fence) then
    return 0
  end
  local is_other = owner.state ~= state or failing ~= (owner.more.g or '')
  for field, word in pairs({ g = failing, h = failure }) do
    if word ~= (owner.more[field] or '') then
      call('HSET', owner.record, field, word)
    end
  end
  set_line(owner, (failing ~= '' or slow == '1') and SLOW or QUICK)
  if owner.state ~= state then
    owner.state = state
    call('HSET', owner.record, 'w', state)
    tell(owner.tag, owner.id, reserve(owner.tag, 1))
  end
  if is_other then
    classify(owner, failing)
  end
  return tonumber(pause)
end

local function finish(tag, id, fence, last, delivered, state, failing, failure, slow, pause, goes_on)
  local owner = read(tag, id, 'k', 'c', 'x', 'g', 'h')
  if not is_last(owner, fence) then
    return 0
  end
  if owner.lease_end == 0 then
    return 1
  end
  local all_delivered = tonumber(owner.more.c or 0)
  if last ~= '' then
    remove_to(owner, tonumber(last), delivered)
    all_delivered = all_delivered + tonumber(delivered)
  end
  local wait = take_over(owner, fence, state, failing, failure, slow, pause)
  keep(owner, 'l', '0', 'c', text(all_delivered))
  if owner.state ~= 'active' then
    call('ZREM', tag .. owner.line, id)
    return 1
  elseif owner.events == 0 then
    return 1
  end
  call('ZADD', tag .. owner.line, text(now + wait), id)
  local is_given = goes_on == '1' and wait == 0 and owner.line == QUICK and taken_bytes < taken_bytes_max
  return is_given and lease({ tag = tag, line = QUICK, chosen = 1 }, now, id) or 2
end

local answer = {}
for at = 9, #ARGV, 11 do
  answer[#answer + 1] = finish(tags[tonumber(ARGV[at])], unpack(ARGV, at + 1, at + 10))
end
settle()
return answer
