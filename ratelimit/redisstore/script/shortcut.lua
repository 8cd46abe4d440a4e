-- A short path for a process without competition: if nobody holds the turn, nobody waits for it.
local expected = ARGV[7]
if holder == '' and value ~= '' and expected ~= '' and not aside
    and redis.call('GETRANGE', KEYS[1], 16, 35) == expected then
  redis.call('SET', KEYS[1], value)
  if to_wake ~= '' then redis.call('PUBLISH', wakes .. to_wake, ARGV[8]) end
  return time[1] * 1000000 + time[2]
end
