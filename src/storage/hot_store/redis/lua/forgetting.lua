-- Deleting, clearing, pausing, erasing: the same as `model::forgetting`, `model::recording` and what a store adds to them.
-- Each answers with a string, and whether others have to hear of it.

local function forgettings()
  local AHEAD_MS_MAX = 5000
  -- Rows that one clear, or one step of what follows it, removes.
  local SWEEP_ROWS = 256
  -- Rows that are looked at together.
  local CHUNK = 64
  local DONE, AHEAD = 4, 5

  local function keys_of(mid)
    return tag .. ':r:' .. mid, tag .. ':t:' .. mid
  end

  -- The moment from which a forgetting holds, as `When::resolve` says; nothing: it lies ahead.
  local function resolved(asked, at, newest)
    if asked == 1 then
      return max(at, min(newest(), at + AHEAD_MS_MAX))
    end
    if at <= now + AHEAD_MS_MAX or at <= newest() then
      return at
    end
  end

  -- The at of the user's newest live record; 0 = there is none. Rows with tombstones only are passed over.
  local function newest_record(mid, watermark)
    local rows, timeline = keys_of(mid)
    local from = 0
    while true do
      local contents = call('ZREVRANGE', timeline, from, from + CHUNK - 1)
      if #contents == 0 then
        return 0
      end
      for _, row in ipairs(call('HMGET', rows, unpack(contents))) do
        local at = row and stamps_of(row) or -1
        if at >= 0 then
          return at > watermark and at >= horizon and at or 0
        end
      end
      from = from + CHUNK
    end
  end

  -- The row as it is after the content was deleted at `at`.
  local function deleted(row, at, version)
    local flags = byte(row)
    if flags % STATES > 0 then
      local _, old_at, _, _, _, _, place = read('>BI6c8HI6Bc0', row)
      if old_at > at then
        local above, _, _, claims, rest = optional_parts(row, flags, place)
        return row_of(flags % STATES, sub(row, 2, place - 1), above, at, version, claims, sub(row, rest)), old_at
      end
    end
    return row_of(0, '', 0, at, version, '', ''), at
  end

  local function delete(change, user)
    local _, mid, asked, at, count, place = read('>BBc0BI6I4', change)
    local rows, timeline = keys_of(mid)
    user = newest_of(user, mid)
    local watermark = read('>I6', user)
    local contents = {}
    for number = 1, count do
      contents[number], place = read('c10', change, place)
    end

    at = resolved(asked, at, function()
      local newest = 0
      for _, content in ipairs(contents) do
        local row = call('HGET', rows, content)
        local old_at = row and stamps_of(row) or -1
        if old_at > watermark and old_at >= horizon then
          newest = max(newest, old_at)
        end
      end
      return newest
    end)
    if not at then
      return char(AHEAD)
    end
    local moved = {}
    for number, content in ipairs(contents) do
      local row = call('HGET', rows, content)
      local old_at, version, tombstone_at, tombstone_version = -1, 0, -1, 0
      if row then
        old_at, version, tombstone_at, tombstone_version = stamps_of(row)
      end
      if tombstone_at < at then
        moved[#moved + 1] = write('>I4', number - 1)
        if row or make_room(user, mid, rows, timeline, at) then
          local last = max(old_at >= 0 and version or 0, tombstone_version)
          local new, newest = deleted(row or '\0', at, max(at * 1000 + 999, last + 1))
          call('HSET', rows, content, new)
          call('ZADD', timeline, newest, content)
        else
          raise_floor(user, mid, at)
        end
      end
    end
    if #moved > 0 then
      keep(rows, timeline)
    end
    return char(DONE) .. write('>I6', at) .. table.concat(moved), #moved > 0
  end

  -- Takes away records at or before the watermark, from the oldest on, and passes over `kept` rows that stay because of
  -- their tombstones. Returns how many stay of those that were seen; nothing: all were seen.
  local function sweep(mid, watermark, kept)
    local rows, timeline = keys_of(mid)
    local contents = call('ZRANGEBYSCORE', timeline, '-inf', watermark, 'LIMIT', kept, SWEEP_ROWS)
    if #contents == 0 then
      return
    end
    for number, row in ipairs(call('HMGET', rows, unpack(contents))) do
      local content = contents[number]
      local at, _, tombstone_at, tombstone_version = -1, 0, -1, 0
      if row then
        at, _, tombstone_at, tombstone_version = stamps_of(row)
      end
      if tombstone_at < 0 or tombstone_at < horizon then
        remove(rows, timeline, content)
      else
        kept = kept + 1
        if at >= 0 then
          call('HSET', rows, content, row_of(0, '', 0, tombstone_at, tombstone_version, '', ''))
          call('ZADD', timeline, tombstone_at, content)
        end
      end
    end
    return #contents == SWEEP_ROWS and kept or nil
  end

  -- The same for what concerns all that the user has.
  local function resolved_for_all(asked, at, mid, watermark)
    return resolved(asked, at, function()
      return newest_record(mid, watermark)
    end)
  end

  local function clear(change, user)
    local _, mid, asked, at = read('>BBc0BI6', change)
    user = newest_of(user, mid)
    local watermark, floor, frozen = read('>I6I6I6', user)
    at = resolved_for_all(asked, at, mid, watermark)
    if not at then
      return char(AHEAD)
    end
    local moved, more = at > watermark, nil
    if moved then
      put_user(mid, at, floor, frozen, sub(user, SWITCHES))
      more = sweep(mid, at, 0)
    end
    return char(DONE) .. write('>I6BBI4', at, moved and 1 or 0, more and 1 or 0, more or 0), moved
  end

  -- What a clear left to be swept.
  local function sweep_on(change, user)
    local _, mid, kept = read('>BBc0I4', change)
    local watermark = read('>I6', newest_of(user, mid))
    local more = sweep(mid, watermark, kept)
    return char(DONE) .. write('>BI4', more and 1 or 0, more or 0)
  end

  local function recording(change, user)
    local _, mid, asked, at, pauses = read('>BBc0BI6B', change)
    user = newest_of(user, mid)
    local watermark, floor = read('>I6I6', user)
    at = resolved_for_all(asked, at, mid, watermark)
    if not at then
      return char(AHEAD)
    end
    local frozen, switches = recordings().switched(user, at, pauses == 1)
    if not frozen then
      return char(DONE, 0, recordings().paused(user) and 1 or 0)
    end
    put_user(mid, watermark, floor, frozen, switches)
    local paused = #switches > 0 and byte(switches, -1) or 0
    return char(DONE, 1, paused), true
  end

  -- Takes the user's claims of these days along, of all rules that can tell users apart: bits of filters stay.
  local function erase_claims(mid, decimals, days)
    for place = 1, #days, 10 do
      local text = sub(days, place, place + 9)
      for _, id in ipairs(call('HKEYS', tag .. ':c:' .. text)) do
        call('SREM', tag .. ':c:' .. text .. ':' .. id, decimals)
      end
      call('UNLINK', tag .. ':w:' .. text .. ':' .. mid)
    end
  end

  local function erase(change, user)
    local _, mid, decimals, days = read('>BBc0Bc0Bc0', change)
    local rows, timeline = keys_of(mid)
    user = newest_of(user, mid)
    local watermark, floor = read('>I6I6', user)
    local newest = call('ZREVRANGE', timeline, 0, 0, 'WITHSCORES')
    local at = max(now, newest[2] and tonumber(newest[2]) or 0, watermark, floor)
    local resumed = recordings().paused(user)
    call('UNLINK', rows, timeline)
    put_user(mid, at, 0, 0, '')
    erase_claims(mid, decimals, days)
    return char(DONE) .. write('>I6B', at, resumed and 1 or 0), true
  end

  return { D = delete, C = clear, S = sweep_on, R = recording, E = erase }
end
