-- The queues that are being filled.
--
-- Answers for each: the id, the version, the definition, how many events there is room for and of how many bytes, and the
-- offset of each part that its queue has reached.

local answer = {}
for _, tag in ipairs(tags) do
  for _, id in ipairs(call('SMEMBERS', tag .. ':qr')) do
    local owner, parts = read(tag, id, 'v'), {}
    local fields = call('HGETALL', owner.record)
    for index = 1, #fields, 2 do
      local part = string.match(fields[index], '^a:(.*)')
      if part then
        parts[#parts + 1], parts[#parts + 2] = part, fields[index + 1]
      end
    end
    local room_bytes = math.max(0, bytes_max - owner.bytes)
    local room = room_bytes > 0 and math.max(0, events_max - owner.events) or 0
    if owner.state ~= 'disabled' then
      answer[#answer + 1] = { id, owner.more.v, call('GET', tag .. ':qp:' .. id), room, room_bytes, parts }
    end
  end
end
return answer
