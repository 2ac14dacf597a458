-- What is kept of a user beside the contents: {h}:u:<mid>. `row.rs` reads the same.
--
--   watermark 6 bytes, floor 6, frozen 6, and for each switch of recording, in their order, at 6 and paused 1
--
-- Missing = nothing was ever forgotten, and nothing was paused.

local SWITCHES = 19 -- where they begin
local NOTHING = write('>I6I6I6', 0, 0, 0)

-- As it is now; `user` is what was read of it for the change.
local function newest_of(user, mid)
  return written_users and written_users[mid] or user or NOTHING
end

-- It goes by itself when what it refuses has outlived the retention; but a pause that has not ended stays.
local function put_user(mid, watermark, floor, frozen, switches)
  local key, user = tag .. ':u:' .. mid, write('>I6I6I6', watermark, floor, frozen) .. switches
  written_users = written_users or {}
  written_users[mid] = user
  if byte(switches, -1) == 1 then
    call('SET', key, user)
  else
    call('SET', key, user, 'PX', kept_ms)
  end
end

local function raise_floor(user, mid, at)
  user = newest_of(user, mid)
  local watermark, floor, frozen = read('>I6I6I6', user)
  if floor < at then
    put_user(mid, watermark, at, frozen, sub(user, SWITCHES))
  end
end
