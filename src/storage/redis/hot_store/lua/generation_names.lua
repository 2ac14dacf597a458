-- Names the generations of counters that commits of the shards must be decided for. A call that comes late changes nothing.
--
--   ARGV[2]  the pair: `3` is read; `3,4` is read and counted; `,1` is counted

local function numbers(pair)
  local current, following = string.match(pair, '^(%d*),?(%d*)$')
  current = tonumber(current) or 0
  return tonumber(following) or current, current
end

local newest, current = numbers(ARGV[2])
for _, tag in ipairs(tags) do
  local present_newest, present_current = numbers(redis.call('GET', tag .. ':g') or '')
  if newest > present_newest or (newest == present_newest and current > present_current) then
    redis.call('SET', tag .. ':g', ARGV[2])
  end
end
return 1
