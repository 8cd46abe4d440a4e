package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// The scripts take turns and know nothing of the limiter. Their keys are state, turn, line and state:corrupt. Each
// answers with what it has done, the time in seconds and microseconds, and what belongs to it: see parseVerdict.
const scriptHead = `
local time = redis.call('TIME')
local me, value, aside, rouse, wakes = ARGV[1], ARGV[4], ARGV[5] == '1', ARGV[6], ARGV[3]
local turn = redis.call('HMGET', KEYS[2], 'holder', 'fence', 'until')
local holder = turn[1] or ''
local now, term = time[1] * 1000 + math.floor(time[2] / 1000), tonumber(ARGV[2])
local fence, ends = tonumber(turn[2]) or 0, tonumber(turn[3]) or 0
local function there() return redis.call('EXISTS', KEYS[1]) == 1 end
local function give(to)
  fence = math.max(fence + 1, now)
  redis.call('HSET', KEYS[2], 'holder', to, 'fence', fence, 'until', now + term)
end
local function write()
  if aside and there() then
    redis.call('RENAME', KEYS[1], KEYS[4])
    redis.call('EXPIRE', KEYS[4], 604800)
  end
  redis.call('SET', KEYS[1], value)
  if rouse ~= '' then redis.call('PUBLISH', wakes .. rouse, ARGV[8]) end
end
local function read() -- an empty value, which is damaged, reads as a blank
  local v = redis.call('GETRANGE', KEYS[1], 0, 131072)
  return v == '' and there() and ' ' or v
end
`

// try writes a value if the state is still the expected version and nobody has or wants the turn. Else it takes the
// turn if that is free, or stands in line. An empty value only asks for the turn. Where nobody holds the turn nobody
// waits for it.
var try = redis.NewScript(scriptHead + `
local expected = ARGV[7]
local held = holder ~= '' and now < ends
if held and holder ~= me then
  if not redis.call('LPOS', KEYS[3], me) then redis.call('RPUSH', KEYS[3], me) end
  return {'wait', time[1], time[2], ends - now}
end
if not held and value ~= '' and redis.call('GETRANGE', KEYS[1], 16, 35) == expected
    and (expected ~= '' or not there()) and (holder == '' or redis.call('LLEN', KEYS[3]) == 0) then
  write()
  return {'done', time[1], time[2]}
end
redis.call('LREM', KEYS[3], 0, me)
give(me)
return {'turn', time[1], time[2], fence, read()}
`)

// commit writes a value if the fence is still this one (any, where it is empty) and hands the turn to the first in line
// that listens. It leaves the line; an empty value writes nothing.
var commit = redis.NewScript(scriptHead + `
redis.call('LREM', KEYS[3], 0, me)
if holder ~= me or (ARGV[7] ~= '' and tonumber(ARGV[7]) ~= fence) then return {'late', time[1], time[2]} end
if value ~= '' then write() end
while true do
  local heir = redis.call('LPOP', KEYS[3])
  if not heir then
    redis.call('HSET', KEYS[2], 'holder', '', 'until', 0)
    break
  end
  give(heir)
  if redis.call('PUBLISH', wakes .. heir, string.format('turn %d ', fence) .. read()) > 0 then break end
end
return {'done', time[1], time[2]}
`)

type verdict struct {
	kind  string // "done", "wait", "turn" or "late"
	wait  time.Duration
	fence int64
	value []byte // with "turn"; nil: there is no state
}

type order struct {
	value []byte
	aside bool          // the state is damaged: it is set aside
	rouse string        // whose request's turn comes with the value
	in    time.Duration // so long after it
	with  string        // the expected version of try, the fence of commit
}

// errReply: the server has answered what it never should.
var errReply = errors.New("unexpected reply")

// run runs a script and takes note of the server's time. Nobody's end takes back what is sent: it may be done.
func (b *Backend) run(script *redis.Script, o order) (verdict, error) {
	aside := "0"
	if o.aside {
		aside = "1"
	}
	keys := []string{b.key("state"), b.key("turn"), b.key("line"), b.key("state:corrupt")}
	words := []any{
		b.owner, b.opts.Turn.Milliseconds(), b.key("wake:"), o.value, aside, o.rouse, o.with, rousing(o.in),
	}
	var reply any
	var sent time.Duration
	asked := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), b.opts.Timeout)
	defer cancel()
	ask := func() (err error) {
		b.trips.Add(1)
		sent = b.clock.boot()
		reply, err = script.Run(ctx, b.client, keys, words...).Result()
		return err
	}
	if len(o.value) == 0 { // else it may be written, see settle
		first := ask
		ask = func() error { return persist(first) }
	}
	err := ask()
	if b.answered(asked, err); err != nil {
		return verdict{}, err
	}
	v, server, err := parseVerdict(reply)
	if err == nil {
		b.clock.look(sent, b.clock.boot(), server)
	}
	return v, err
}

func parseVerdict(answer any) (v verdict, server time.Duration, err error) {
	reply, _ := answer.([]any)
	if len(reply) < 3 {
		return v, 0, errReply
	}
	if server, err = parseTime(reply[1], reply[2]); err != nil {
		return v, 0, err
	}
	var (
		n                int64
		value            string
		isNumber, isText bool
	)
	if len(reply) > 3 {
		n, isNumber = reply[3].(int64)
	}
	if len(reply) > 4 {
		value, isText = reply[4].(string)
	}
	v.kind, _ = reply[0].(string)
	switch {
	case v.kind == "done", v.kind == "late":
	case v.kind == "wait" && isNumber:
		v.wait = time.Duration(n) * time.Millisecond
	case v.kind == "turn" && isNumber && isText:
		v.fence, v.value = n, presence(value)
	default:
		return v, 0, errReply
	}
	return v, server, nil
}

// presence returns the value of a key, nil for an empty one: GETRANGE says the same of a key that does not exist.
func presence(value string) []byte {
	if value == "" {
		return nil
	}
	return []byte(value)
}

func parseTime(seconds, micros any) (time.Duration, error) {
	s, isText := seconds.(string)
	us, isText2 := micros.(string)
	n, err := strconv.ParseInt(s, 10, 64)
	m, err2 := strconv.ParseInt(us, 10, 64)
	if !isText || !isText2 || err != nil || err2 != nil || n < 0 || n > 1<<33 || m < 0 || m >= 1e6 {
		return 0, fmt.Errorf("%w for the time", errReply)
	}
	return time.Duration(n)*time.Second + time.Duration(m)*time.Microsecond, nil
}
