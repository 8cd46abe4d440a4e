-- The beginning of both scripts, which know nothing about the limiter. Their keys are state (the value), turn (whose
-- turn it is to write), line (who waits for it) and state:corrupt. After a write, or if there was nothing to write, the
-- reply is the server's time in microseconds; otherwise it is an array that begins with "wait" (for the turn), "turn"
-- (granted) or "late" (the fence is no longer valid).
local time = redis.call('TIME')
local me, value, aside, to_wake, wakes = ARGV[1], ARGV[4], ARGV[5] == '1', ARGV[6], ARGV[3]
local turn = redis.call('HMGET', KEYS[2], 'holder', 'fence', 'until')
local holder = turn[1] or ''
