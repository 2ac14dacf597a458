-- Ends leases, each if it still is the last one of its owner.
--
--   from ARGV[5] on, for each lease: the place of its unit, and
--     the id
--     the fence of the lease
--     the number up to which everything was delivered, or ''
--     how many events these were
--     state, failing and last failure
--     milliseconds until the owner is due again
--
-- Answers for each 1, also if it was done before; 0 if the lease is not the last one.

local function remove_to(owner, last)
  local count
  repeat
    local entries = call('LRANGE', owner.queue, 0, PAGE - 1)
    count = 0
    for _, entry in ipairs(entries) do
      local number, bytes = look_at(entry)
      if number > last then
        break
      end
      owner.events, owner.bytes, count = owner.events - 1, owner.bytes - bytes, count + 1
    end
    if count > 0 then
      call('LTRIM', owner.queue, count, -1)
    end
  until count < PAGE
end

-- Whether the lease is the last one. A void one lets go what waits for its end: nothing begins under it any more.
local function is_last(owner, fence)
  if not owner.fence and owner.more[2] == fence then
    call('HDEL', owner.record, 'l', 'x')
    owner.lease_end = 0
    put_in(owner, true)
  end
  return owner.incarnation and owner.fence == fence
end

local function finish(tag, id, fence, last, delivered, state, failing, failure, pause)
  local owner = read(tag, id, 'c', 'x')
  if not is_last(owner, fence) then
    return 0
  end
  if owner.lease_end == 0 then
    return 1
  end
  local fields, all_delivered = {}, tonumber(owner.more[1] or 0)
  if last ~= '' then
    remove_to(owner, tonumber(last))
    all_delivered = all_delivered + tonumber(delivered)
  end
  local gone, due = { 'l' }, now
  -- What the API has changed since the lease was given stays.
  if owner.changed < tonumber(fence) then
    due = now + tonumber(pause)
    for field, word in pairs({ w = state, g = failing, h = failure }) do
      if word == '' then
        gone[#gone + 1] = field
      else
        fields[#fields + 1], fields[#fields + 2] = field, word
      end
    end
    if owner.state ~= state then
      owner.state = state
      tell(tag, id, reserve(tag, 1))
    end
  end
  call('HDEL', owner.record, unpack(gone))
  keep(owner, 'c', text(all_delivered), unpack(fields))
  if owner.state ~= 'active' then
    call('ZREM', tag .. ':qc', id)
  elseif owner.events > 0 then
    call('ZADD', tag .. ':qc', due, id)
  end
  return 1
end

local answer = {}
for at = 5, #ARGV, 9 do
  answer[#answer + 1] = finish(tags[tonumber(ARGV[at])], unpack(ARGV, at + 1, at + 8))
end
settle()
return answer
