-- Removes the marks of a user.
--
--   ARGV[2], ARGV[3]  the least mark of the user, and the least of the next one; '+' = no next one
--   then the days

for _, tag in ipairs(tags) do
  for at = 4, #ARGV do
    local upto = ARGV[3] == '+' and '+' or '(' .. ARGV[3]
    redis.call('ZREMRANGEBYLEX', tag .. ':vm:' .. ARGV[at], '[' .. ARGV[2], upto)
  end
end
return 1
