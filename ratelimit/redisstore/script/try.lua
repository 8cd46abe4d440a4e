local held = holder ~= '' and now < ends
if held and holder ~= me then
  if not redis.call('LPOS', KEYS[3], me) then redis.call('RPUSH', KEYS[3], me) end
  return {'wait', time[1], time[2], ends - now}
end
if not held and value ~= '' and redis.call('LLEN', KEYS[3]) == 0
    and there == (expected ~= '') and redis.call('GETRANGE', KEYS[1], 16, 35) == expected then
  write()
  return time[1] * 1000000 + time[2]
end
redis.call('LREM', KEYS[3], 0, me)
give(me)
return {'turn', time[1], time[2], fence, read()}
