-- Changes an owner, if its version still is the one that the change was decided on.
--
--   ARGV[5]  the id
--   ARGV[6]  the version
--   ARGV[7]  'put', 'redefine', 'delete', 'pause', 'resume' or 'replay'
--   ARGV[8]  of 'put' and 'redefine': the definition
--   then of 'put' and 'replay': parts, each with an offset
--
-- Answers 'done', the new version, whether the owner was made, and for how many milliseconds a lease goes on; 'moved' and
-- the version; or 'missing' and for how many milliseconds a lease goes on.

local owner, kind = read(tag, ARGV[5], 'v', 'x'), ARGV[7]
local present = owner.more.v or '0'
local leased_for = math.max(0, owner.lease_end - now)
if present ~= ARGV[6] then
  return { 'moved', present }
end
if not owner.incarnation and kind ~= 'put' then
  return { 'missing', leased_for }
end

local id, record, made = owner.id, owner.record, not owner.incarnation
local definition = tag .. ':qp:' .. id
local number = reserve(tag, 1)
local version = text(number)

local function set_offsets()
  for at = 9, #ARGV, 2 do
    call('HSET', record, 'a:' .. ARGV[at], ARGV[at + 1])
  end
end

local function set_state(state)
  owner.state = state
  call('HSET', record, 'w', state, 'k', version)
  classify(owner, '')
end

local function empty()
  call('UNLINK', owner.queue)
  owner.events, owner.bytes = 0, 0
  keep(owner)
end

-- A lease that still lasts removes nothing from here on. Its worker may end it early.
local function void_lease()
  local fence = owner.fence or owner.more.x
  if leased_for > 0 and fence then
    call('HSET', record, 'l', text(owner.lease_end), 'x', fence)
  end
  call('HDEL', record, 'f')
end

local changes = {}

function changes.put()
  call('SET', definition, ARGV[8])
  if made then
    -- First what is read most: Redis looks for a field of a small hash from the first on.
    call('HSET', record, 'i', version, 'w', 'active', 'n', 0, 'b', 0, 'l', text(owner.lease_end), 'f', '', 'c', 0)
    call('ZADD', tag .. ':qi', 0, id)
    add(tag, 'owners', 1)
    set_offsets()
  else
    call('HDEL', record, 'g', 'h')
  end
  local stays = owner.state and owner.state ~= 'active' and owner.state ~= 'disabled'
  set_state(stays and owner.state or 'active')
  set_line(owner, QUICK)
  put_in(owner, true)
end

function changes.redefine()
  call('SET', definition, ARGV[8])
end

function changes.delete()
  empty()
  count_dead(owner)
  add(tag, 'owners', -1)
  add(tag, 'dead', -owner.dead_events)
  call('DEL', record)
  call('UNLINK', owner.dead, definition)
  for _, list in ipairs({ ':qi', ':qf', ':qx' }) do
    call('ZREM', tag .. list, id)
  end
  call('SREM', tag .. ':qr', id)
  void_lease()
end

function changes.pause()
  set_state('requested')
  call('ZREM', tag .. owner.line, id)
end

function changes.resume()
  call('HDEL', record, 'g')
  set_state('active')
  set_line(owner, QUICK)
  put_in(owner, true)
end

function changes.replay()
  empty()
  for _, field in ipairs(call('HKEYS', record)) do
    if string.find(field, '^[ame]:') then
      call('HDEL', record, field)
    end
  end
  void_lease()
  set_offsets()
  call('HSET', record, 'r', 1)
  call('SADD', tag .. ':qr', id)
end

changes[kind]()
call('HSET', record, 'v', version)
tell(tag, id, number)
settle()
return { 'done', version, made and 1 or 0, leased_for }
