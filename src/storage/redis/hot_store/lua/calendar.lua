-- Stores the newest day on which anything was committed in {h0}:calendar, a hash of its day, zone and rules; and
-- filters of a day in {h0}:filters:<day>, a hash of their measures by rule. Stores nothing if either has changed since
-- it was read.
--
--   ARGV     after the first: the stored day, days since 1970-01-01, '' = none; the day to store, '' = none; its
--            zone; the ids of its rules, with blanks between them; the key of the filters; their life in milliseconds;
--            then rules that have no filter yet, each followed by the measures of its filter
--
-- Answers with 1, or with 0 if either has changed; then nothing was stored.

local key, filters = tag .. ':calendar', ARGV[6]
if (redis.call('HGET', key, 'day') or '') ~= ARGV[2] then
  return 0
end
for index = 8, #ARGV, 2 do
  if redis.call('HEXISTS', filters, ARGV[index]) == 1 then
    return 0
  end
end
if ARGV[3] ~= '' then
  redis.call('HSET', key, 'day', ARGV[3], 'zone', ARGV[4], 'rules', ARGV[5])
end
for index = 8, #ARGV, 2 do
  redis.call('HSET', filters, ARGV[index], ARGV[index + 1])
end
redis.call('PEXPIRE', filters, ARGV[7], 'NX')
return 1
