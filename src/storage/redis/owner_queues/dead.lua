-- The oldest dead letters of an owner.
--
--   ARGV[5]  the id
--   ARGV[6]  the number after which they are
--   ARGV[7]  how many at most
--   ARGV[8]  bytes of all; one comes however long it is
--
-- Answers for each: its number, the event, the reason, and when it was given up; false if there is no such owner.

local owner, answer = read(tag, ARGV[5]), {}
if not owner.incarnation then
  return false
end
local limit, bytes_left, after = tonumber(ARGV[7]), tonumber(ARGV[8]), tonumber(ARGV[6])
local is_over = limit < 1
while not is_over do
  local letters = call('XRANGE', owner.dead, entry_id(after + 1), '+', 'COUNT', PAGE)
  is_over = #letters < PAGE
  for _, letter in ipairs(letters) do
    local fields = letter[2]
    bytes_left = bytes_left - #fields[2]
    if bytes_left < 0 and #answer > 0 or #answer >= limit then
      return answer
    end
    after = id_of(letter)
    answer[#answer + 1] = { text(after), fields[2], fields[4], fields[6] }
  end
end
return answer
