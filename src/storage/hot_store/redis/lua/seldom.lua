-- What the loop of `beat.lua` may need of all that: each part is made when it is needed first.

local made_forgettings
return {
  greater = greater,
  optional_parts = optional_parts,
  row_of = row_of,
  make_room = make_room,
  keep = keep,
  covers = function(...)
    return recordings().covers(...)
  end,
  paused_between = function(...)
    return recordings().paused_between(...)
  end,
  reward = function(...)
    return rewarder()(...)
  end,
  forget = function(change, user)
    made_forgettings = made_forgettings or forgettings()
    return made_forgettings[sub(change, 1, 1)](change, user)
  end,
}
