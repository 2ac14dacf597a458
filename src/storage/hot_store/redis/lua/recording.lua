-- The switches with which a user stops and resumes being recorded, as a row of a user holds them: sorted by moment, at one
-- and the same moment the pause last. The same as `model::recording`, which says what they mean.

local recordings_made
local function recordings()
  if recordings_made then
    return recordings_made
  end
  local BYTES, SWITCHES_MAX = 7, 128

  -- Of the `number`th, from 1 on: at, and whether it pauses. False where there is none.
  local function switch_of(user, number)
    if number < 1 then
      return 0, false
    end
    local at, paused = read('>I6B', user, SWITCHES + (number - 1) * BYTES)
    return at, paused == 1
  end

  local function count_of(user)
    return (#user - SWITCHES + 1) / BYTES
  end

  -- How many come before `at`; with those at that very moment if `and_at`.
  local function count_until(user, at, and_at)
    local low, high = 0, count_of(user)
    while low < high do
      local middle = math.floor((low + high + 1) / 2)
      local found = switch_of(user, middle)
      if found < at or (and_at and found == at) then
        low = middle
      else
        high = middle - 1
      end
    end
    return low
  end

  -- Whether `at` lies inside a paused interval. Both of its ends belong to it.
  local function covers(user, at)
    local _, after = switch_of(user, count_until(user, at, true))
    local _, before = switch_of(user, count_until(user, at, false))
    return after or before
  end

  -- Whether any moment from `from` to `to` lies inside a paused interval.
  local function paused_between(user, from, to)
    if covers(user, from) then
      return true
    end
    for number = count_until(user, from, false) + 1, count_until(user, to, true) do
      local _, paused = switch_of(user, number)
      if paused then
        return true
      end
    end
    return false
  end

  -- The state after the newest.
  local function paused(user)
    local _, is_paused = switch_of(user, count_of(user))
    return is_paused
  end

  -- Only the newest before the horizon still says something about the time after it.
  local function without_outlived(switches)
    local before = 0
    while before < #switches and switches[before + 1].at < horizon do
      before = before + 1
    end
    local first = before + 1
    if before > 0 and switches[before].paused then
      first = before
    end
    local kept = {}
    for number = first, #switches do
      kept[#kept + 1] = switches[number]
    end
    return kept
  end

  -- A resume that follows a resume says nothing now.
  local function without_repeated_resumes(switches)
    local kept, was_paused = {}, false
    for _, switch in ipairs(switches) do
      if was_paused or switch.paused then
        kept[#kept + 1] = switch
      end
      was_paused = switch.paused
    end
    return kept
  end

  -- Folds all up to the end of the second paused interval into one interval; returns what is frozen then.
  local function with_oldest_merged(switches, frozen)
    local first, ends = nil, {}
    for number, switch in ipairs(switches) do
      if switch.paused then
        first = first or number
      elseif first then
        ends[#ends + 1] = number
      end
    end
    if not first then
      return switches, frozen
    end
    local last = ends[2]
    if not last and not switches[#switches].paused then
      last = #switches
    end
    local merged = { switches[first] }
    if last then
      merged[2] = switches[last]
    end
    frozen = max(frozen, switches[last or #switches].at)
    for number = (last or #switches) + 1, #switches do
      merged[#merged + 1] = switches[number]
    end
    return merged, frozen
  end

  -- Adds a switch. Returns what is frozen then, and the switches as bytes; nothing: it changes nothing.
  local function switched(user, at, pauses)
    local _, _, frozen = read('>I6I6I6', user)
    if not pauses and at <= frozen then
      return
    end
    local switches, place = {}, nil
    for number = 1, count_of(user) do
      local found_at, found_pauses = switch_of(user, number)
      if found_at == at and found_pauses == pauses then
        return
      end
      local comes_after = found_at > at or (found_at == at and found_pauses)
      if comes_after and not place then
        place = number
      end
      switches[number] = { at = found_at, paused = found_pauses }
    end
    table.insert(switches, place or #switches + 1, { at = at, paused = pauses })
    if #switches > SWITCHES_MAX then
      switches = without_outlived(switches)
    end
    if #switches > SWITCHES_MAX then
      switches = without_repeated_resumes(switches)
    end
    if #switches > SWITCHES_MAX then
      switches, frozen = with_oldest_merged(switches, frozen)
    end
    for number, switch in ipairs(switches) do
      switches[number] = write('>I6B', switch.at, switch.paused and 1 or 0)
    end
    return frozen, table.concat(switches)
  end

  recordings_made = { covers = covers, paused_between = paused_between, paused = paused, switched = switched }
  return recordings_made
end
