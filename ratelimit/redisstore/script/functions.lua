local now, term = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])
local fence, ends = tonumber(turn[2]) or 0, tonumber(turn[3]) or 0
local there = redis.call('EXISTS', KEYS[1]) == 1
local function give(to)
  fence = math.max(fence + 1, now)
  redis.call('HSET', KEYS[2], 'holder', to, 'fence', fence, 'until', now + term)
end
local function write()
  if aside and there then
    redis.call('RENAME', KEYS[1], KEYS[4])
    redis.call('EXPIRE', KEYS[4], 604800)
  end
  redis.call('SET', KEYS[1], value)
  if to_wake ~= '' then redis.call('PUBLISH', wakes .. to_wake, ARGV[8]) end
end
local function read() -- an empty value, which is damaged, reads as a blank
  local v = redis.call('GETRANGE', KEYS[1], 0, 131072)
  return v == '' and redis.call('EXISTS', KEYS[1]) == 1 and ' ' or v
end
