-- The newest day on which anything was committed: {h0}:calendar, a hash of its day, zone and rules. Only ever forward.
--
--   ARGV     after the first, the day, days since 1970-01-01; its zone; the ids of its rules, with blanks between them

local key = tag .. ':calendar'
local day = redis.call('HGET', key, 'day')
if not day or tonumber(day) < tonumber(ARGV[2]) then
  redis.call('HSET', key, 'day', ARGV[2], 'zone', ARGV[3], 'rules', ARGV[4])
end
return 'OK'
