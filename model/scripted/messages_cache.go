package scripted

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"time"
)

// How long a prompt is kept, as cache_control says it.
const (
	ttlMinutes = "5m"
	ttlHour    = "1h"
)

// lookback is how many blocks before a breakpoint are looked at for one that
// was kept.
const lookback = 20

// span is a request up to the end of one of its blocks.
type span struct {
	where string            // the block
	sum   [sha256.Size]byte // of all bytes
	size  int               // how many they are
	ttl   string            // how long it is to be kept; "" for not at all
}

// ttl is how long to keep what comes before c.
func (c *cacheControl) ttl() string {
	switch {
	case c == nil:
		return ""
	case c.TTL == "":
		return ttlMinutes
	}
	return c.TTL
}

// split takes the request apart: tools, system prompt, messages. What else
// changes how a prompt is read stands between them, and has no size.
func (r *messagesRequest) split() []span {
	var out []span
	sum := sha256.New()
	size := 0
	add := func(where string, b *block) {
		fmt.Fprintf(sum, "%d:%s", len(b.raw), b.raw)
		size += len(b.raw)
		s := span{
			where: where,
			size:  size,
			ttl:   b.CacheControl.ttl(),
		}
		sum.Sum(s.sum[:0])
		out = append(out, s)
	}
	for i := range r.tools {
		if !r.tools[i].Deferred { // such a one stands where a result leads to it
			add(fmt.Sprintf("tools.%d", i), &r.tools[i])
		}
	}
	for i := range r.system {
		add(fmt.Sprintf("system.%d", i), &r.system[i])
	}
	fmt.Fprintf(sum, "thinking:%s choice:%s", encoded(r.Thinking), encoded(r.ToolChoice))
	for i := range r.joined {
		fmt.Fprintf(sum, "role:%s", r.joined[i].role)
		for j := range r.joined[i].blocks {
			add(fmt.Sprintf("messages.%d.content.%d", i, j), &r.joined[i].blocks[j])
		}
	}
	return out
}

// promptCache plays a server's prompt cache. Its zero value is empty.
type promptCache struct {
	mu   sync.Mutex
	kept map[prompt]time.Time // until when; zero: for good
}

// prompt names the beginning of a request to a model.
type prompt struct {
	model string
	sum   [sha256.Size]byte
}

// use serves a request: it finds what was kept, keeps what is to be kept, and
// counts both. Without a clock everything is kept for good.
func (c *promptCache) use(model string, spans []span, clock func() time.Time) Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil {
		c.kept = map[prompt]time.Time{}
	}
	var now time.Time
	if clock != nil {
		now = clock()
	}
	u := Usage{Input: tokens(spans[len(spans)-1].size)}
	hit := c.find(model, spans, now)
	before := int64(0)
	if hit >= 0 {
		u.Cached = tokens(spans[hit].size)
		before = u.Cached
	}
	for i := range spans {
		s := &spans[i]
		if s.ttl == "" {
			continue
		}
		c.keep(prompt{model, s.sum}, s.ttl, now)
		if i <= hit {
			continue
		}
		fresh := tokens(s.size) - before
		before += fresh
		if s.ttl == ttlHour {
			u.WrittenHour += fresh
		} else {
			u.Written += fresh
		}
	}
	return u
}

// find is the index of the longest beginning that was kept and that a
// breakpoint is near enough to; -1 for none.
func (c *promptCache) find(model string, spans []span, now time.Time) int {
	for i := len(spans) - 1; i >= 0; i-- {
		if spans[i].ttl == "" {
			continue
		}
		for at := i; at >= max(0, i-lookback); at-- {
			until, ok := c.kept[prompt{model, spans[at].sum}]
			if ok && (until.IsZero() || now.Before(until)) {
				return at
			}
		}
	}
	return -1
}

// keep keeps a prompt for as long as it says from now on.
func (c *promptCache) keep(p prompt, ttl string, now time.Time) {
	if now.IsZero() {
		c.kept[p] = time.Time{}
		return
	}
	until := now.Add(5 * time.Minute)
	if ttl == ttlHour {
		until = now.Add(time.Hour)
	}
	c.kept[p] = until
}
