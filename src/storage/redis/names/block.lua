-- Takes a block of numbers: as many as ARGV[2] says. Answers with the last of them.

return redis.call('INCRBY', tag .. ':namelast', ARGV[2])
