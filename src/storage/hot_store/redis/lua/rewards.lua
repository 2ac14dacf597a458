-- Who was first today: the same decision as `Rewarding` asks of every store.
--
--   {h}:c:<day>         hash: the rules that have claims on the day, by id, with their numbers
--   {h}:c:<day>:<rule>  set: users who claimed by a rule per user
--   {h}:w:<day>:<mid>   hash: claims of a user by rules per content that are kept exactly: number of the rule, content
--   {h}:b:<day>:<rule>  string: of a rule per content with a filter: 4 bytes that count, and the bits of the filter
--   {h}:o               sorted set: the outbox
--
-- A rule is a record of ARGV[3]; see `request.rs`.

local PER_USER, PER_CONTENT, FILTERED = 0, 1, 2
local COUNT_BITS = 32

local rewarder_made
local function rewarder()
  if rewarder_made then
    return rewarder_made
  end

  local rules, place = {}, 1
  while place <= #ARGV[3] do
    local rule = {}
    rule.kind, rule.least, rule.items, rule.id, rule.prefix, place = read('>BI7I4Bc0Bc0', ARGV[3], place)
    rules[#rules + 1] = rule
  end

  -- What is known of the shard: how much room its outbox has, and the numbers of rules in it, by id.
  local known_shards, room = {}, claims_max
  local function shard()
    local known = known_shards[tag]
    if not known then
      known = { day_key = tag .. ':c:' .. day_text, room = outbox_max - call('ZCARD', tag .. ':o'), numbers = {} }
      known_shards[tag] = known
    end
    return known
  end

  -- The number of a rule in this shard today, at most one byte; nothing: it has claimed nothing yet.
  local function number_of(rule)
    local numbers = shard().numbers
    if not numbers[rule.id] then
      local number = call('HGET', shard().day_key, rule.id)
      numbers[rule.id] = number and char(tonumber(number))
    end
    return numbers[rule.id]
  end

  local function number_made(rule)
    if not number_of(rule) then
      local day_key = shard().day_key
      local number = call('HLEN', day_key) + 1
      call('HSET', day_key, rule.id, number)
      if number == 1 then
        call('PEXPIRE', day_key, claims_ms)
      end
      shard().numbers[rule.id] = char(number)
    end
    return number_of(rule)
  end

  -- Each of the following says whether there is the claim already, and if not how it is made.

  local function of_user(rule, decimals)
    local key = shard().day_key .. ':' .. rule.id
    return call('SISMEMBER', key, decimals) == 1, function()
      number_made(rule)
      call('SADD', key, decimals)
      -- An erasure may have taken the last one, and the key with it.
      call('PEXPIRE', key, claims_ms, 'NX')
    end
  end

  local function exactly_of_content(rule, mid, content)
    local key, number = tag .. ':w:' .. day_text .. ':' .. mid, number_of(rule)
    return number and call('HEXISTS', key, number .. content) == 1, function()
      call('HSET', key, number_made(rule) .. content, '')
      call('PEXPIRE', key, claims_ms, 'NX')
    end
  end

  -- A filter that has taken what it was made for takes no more, so that it goes on saying yes wrongly with its
  -- probability at most; what comes then is kept exactly.
  local function by_filter(rule, mid, content, positions)
    local key = tag .. ':b:' .. day_text .. ':' .. rule.id
    local look = { 'BITFIELD_RO', key, 'GET', 'u' .. COUNT_BITS, 0 }
    for at = 1, #positions, 4 do
      look[#look + 1], look[#look + 2], look[#look + 3] = 'GET', 'u1', COUNT_BITS + read('>I4', positions, at)
    end
    local bits, known = call(unpack(look)), true
    for number = 2, #bits do
      known = known and bits[number] == 1
    end
    if not known and bits[1] >= rule.items then
      return exactly_of_content(rule, mid, content)
    end
    return known, function()
      local note = { 'BITFIELD', key, 'INCRBY', 'u' .. COUNT_BITS, 0, 1 }
      for at = 1, #positions, 4 do
        note[#note + 1], note[#note + 2] = 'SET', 'u1'
        note[#note + 1], note[#note + 2] = COUNT_BITS + read('>I4', positions, at), 1
      end
      call(unpack(note))
      if bits[1] == 0 then
        call('PEXPIRE', key, claims_ms)
      end
      return number_made(rule)
    end
  end

  -- What the asks of a beat come to, whose row has `credit`: for each that is decided its rule's place among all,
  -- doubled, + 1 if the claim was made now; and the rules that have claimed this content today, which a filter cannot tell.
  rewarder_made = function(asks, mid, content, credit, claims)
    local count, watched, decimals, common, place = read('>BBc0Bc0I4c0', asks)
    local _, since, base = read('>HI6Bc0', credit)
    local earned, decided = min(difference(watched, base), max(0, now - since)), ''
    for _ = 1, count do
      local number, positions
      number, positions, place = read('>BBc0', asks, place)
      local rule = rules[number + 1]
      if earned >= rule.least then
        local known, make
        if rule.kind == PER_USER then
          known, make = of_user(rule, decimals)
        elseif rule.kind == PER_CONTENT then
          known, make = exactly_of_content(rule, mid, content)
        else
          known, make = by_filter(rule, mid, content, positions)
        end
        if known then
          decided = decided .. char(2 * number)
        elseif room > 0 and shard().room > 0 then
          -- Otherwise nothing is decided: it is asked again when there is room.
          local by_content = make()
          if by_content and not string.find(claims, by_content, 1, true) then
            claims = claims .. by_content
          end
          call('ZADD', tag .. ':o', now, rule.prefix .. common)
          room, shard().room, decided = room - 1, shard().room - 1, decided .. char(2 * number + 1)
        end
      end
    end
    return decided, claims
  end
  return rewarder_made
end
