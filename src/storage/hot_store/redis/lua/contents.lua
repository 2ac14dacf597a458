-- Which contents of a user are kept: fields of {h}:r:<mid>, members of the timeline {h}:t:<mid>.
--
-- A content is 10 bytes, kind and oid, big-endian, so that among equal moments the timeline has them in their order. Its
-- score is the newest moment by which it is known: the record's at, or the tombstone's if there is no record.

-- Both keys go by themselves once all that is in them has outlived the retention.
local function keep(rows, timeline)
  call('PEXPIRE', rows, kept_ms)
  call('PEXPIRE', timeline, kept_ms)
end

local function remove(rows, timeline, content)
  call('HDEL', rows, content)
  call('ZREM', timeline, content)
end

-- Makes room for a content that is not there yet and is known by `at`. False: it is the oldest itself, and full it is.
-- What has outlived the retention goes by and by, and so does what is beyond a cap that was lowered: two at a time.
local function make_room(user, mid, rows, timeline, at)
  if horizon > 0 then
    local outlived = call('ZRANGEBYSCORE', timeline, '-inf', '(' .. horizon, 'LIMIT', 0, 2)
    for _, content in ipairs(outlived) do
      remove(rows, timeline, content)
    end
  end
  local count, evicted, floor = call('HLEN', rows), 0, 0
  while count - evicted >= contents_max and evicted < 2 do
    local oldest = call('ZRANGE', timeline, 0, 0, 'WITHSCORES')
    if not oldest[1] or at <= tonumber(oldest[2]) then
      break
    end
    remove(rows, timeline, oldest[1])
    evicted, floor = evicted + 1, max(floor, tonumber(oldest[2]))
  end
  if evicted > 0 then
    raise_floor(user, mid, floor)
  end
  return count < contents_max or evicted > 0
end
