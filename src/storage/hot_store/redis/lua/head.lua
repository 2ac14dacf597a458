-- One call for all changes of a group to users of these shards, each shard's in their order, decided and written. In a
-- Cluster, where a script may touch one shard alone, there is a call for each.
--
--   KEYS     {h<shard>}:deployment of each shard
--   ARGV[1]  what they must hold: nothing is written into a Redis that is not the one that was prepared
--   ARGV[2]  by what is decided; see `request.rs`
--   ARGV[3]  the rules that are asked for
--   ARGV[4]  how many changes there are of each shard, 4 bytes each
--   ARGV[5…] the changes, shard by shard
--
-- Answers one string for each change, and then one with a byte for each: how many gateways follow the user (255 = that
-- many or more), or 0 where nobody has to hear of it. The time is the gateway's. A script is not rolled back when it
-- breaks off: all that can be wrong with what is stored is read before anything is written for the same change, and a
-- repetition finds what is done already.
--
-- Most changes are beats that only move a record on, so that way is straight: this, and the loop of `beat.lua`. In Lua
-- every function is made anew in every call and pays for each outer name it uses. All that is seldom needed is therefore
-- made when it is needed first, in `seldom`.

local read = struct.unpack
local shards, begin = #KEYS, 5
-- Of each change: the beginning of all keys of its shard.
local tags, keys = {}, { unpack(KEYS) }
for shard = 1, shards do
  local tag = string.sub(KEYS[shard], 1, -12)
  for _ = 1, (read('>I4', ARGV[4], 4 * shard - 3)) do
    tags[#tags + 1] = tag
    keys[#keys + 1] = tag .. ':u:' .. read('xBc0', ARGV[begin - 1 + #tags])
  end
end
-- What is kept of the user of each change, false = nothing; behind what the shards hold.
local users = redis.call('MGET', unpack(keys))
for shard = 1, shards do
  if users[shard] ~= ARGV[1] then
    return redis.error_reply('WIPED ' .. KEYS[shard] .. ' is missing, or of another deployment')
  end
end
-- Of the change that is decided now.
local tag
-- What this call has written of users, by mid.
local written_users
local now, horizon, day = read('>I6I6H', ARGV[2])
