-- What has changed of the subscriptions of each unit.
--
--   ARGV[5]  changes of a unit that are told at once
--   ARGV[6]  bytes of definitions that are told at once, of all units
--   then for each unit: the number after which the changes are
--
-- Answers for each unit: the number up to which changes were told, whether there may be more, and for each change the id
-- and, unless the owner was deleted, its incarnation, version, state and definition.

local limit, bytes_max, bytes = tonumber(ARGV[5]), tonumber(ARGV[6]), 0

local function changed(tag, since)
  local changes, told = {}, since
  local found = call('ZRANGEBYSCORE', tag .. ':qv', '(' .. since, '+inf', 'WITHSCORES', 'LIMIT', 0, limit)
  for at = 1, #found, 2 do
    if bytes >= bytes_max then
      return { told, 1, changes }
    end
    local id = found[at]
    local owner = call('HMGET', tag .. ':qo:' .. id, 'i', 'v', 'w')
    local definition = owner[1] and call('GET', tag .. ':qp:' .. id)
    changes[#changes + 1] = definition and { id, owner[1], owner[2], owner[3], definition } or { id }
    bytes = bytes + #(definition or '')
    told = text(tonumber(found[at + 1]))
  end
  return { told, #found == 2 * limit and 1 or 0, changes }
end

local answer = {}
for index, tag in ipairs(tags) do
  answer[index] = changed(tag, ARGV[6 + index])
end
return answer
