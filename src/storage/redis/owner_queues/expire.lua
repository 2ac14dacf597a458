-- Gives up what is too old.
--
-- Answers how many events these were, and whether there may be more.

local died, more = 0, 0
for _, tag in ipairs(tags) do
  local old = call('ZRANGEBYSCORE', tag .. ':qa', '-inf', '(' .. text(horizon), 'LIMIT', 0, PAGE)
  more = #old == PAGE and 1 or more
  for _, id in ipairs(old) do
    if died >= MOVED_MAX then
      more = 1
      break
    end
    local owner = read(tag, id)
    local moved, is_within = shed(owner)
    keep(owner)
    died, more = died + moved, is_within and more or 1
  end
end
settle()
return { died, more }
