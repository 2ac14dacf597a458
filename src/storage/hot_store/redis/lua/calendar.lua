-- The newest day on which anything was committed: {h0}:calendar, a hash of its day, zone and rules. Only ever forward.
-- And the filters of a day: {h0}:filters:<day>, a hash of their measures by rule. The first to name one decides.
--
--   ARGV     after the first, the day, days since 1970-01-01; its zone; the ids of its rules, with blanks between them;
--            the key of its filters; for how many milliseconds; then rules and the measures of their filters in turn
--
-- Answers with the filters of the day.

local key = tag .. ':calendar'
local day = redis.call('HGET', key, 'day')
if not day or tonumber(day) < tonumber(ARGV[2]) then
  redis.call('HSET', key, 'day', ARGV[2], 'zone', ARGV[3], 'rules', ARGV[4])
end
for place = 7, #ARGV, 2 do
  redis.call('HSETNX', ARGV[5], ARGV[place], ARGV[place + 1])
end
redis.call('PEXPIRE', ARGV[5], ARGV[6], 'NX')
return redis.call('HGETALL', ARGV[5])
