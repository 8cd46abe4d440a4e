redis.call('LREM', KEYS[3], 0, me)
if holder ~= me or (ARGV[7] ~= '' and tonumber(ARGV[7]) ~= fence) then return {'late', time[1], time[2]} end
if value ~= '' then write() end
while true do
  local heir = redis.call('LPOP', KEYS[3])
  if not heir then break end
  give(heir)
  local message = string.format('turn %d ', fence) .. read()
  if redis.call('PUBLISH', wakes .. heir, message) > 0 then return time[1] * 1000000 + time[2] end
end
redis.call('HSET', KEYS[2], 'holder', '', 'until', 0)
return time[1] * 1000000 + time[2]
