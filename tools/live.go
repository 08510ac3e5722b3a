package tools

import (
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/plan-engine/plan/internal/failpoint"
)

const (
	liveEvery = 100 * time.Millisecond
	liveBytes = 8 << 10 // shown of what comes in that time
)

// liveText passes output on as it comes, a piece at most every liveEvery, in
// whole characters. It shows the end of what comes faster than that; the whole
// is in the result. Update is never called twice at once, nor after close.
type liveText struct {
	update func(string)

	mu      sync.Mutex
	pending []byte
	skipped int
	timer   *time.Timer // set while a piece is waiting to be shown
	closed  bool
}

func (l *liveText) write(chunk []byte) {
	failpoint.Hit("in a command")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, chunk...)
	if over := len(l.pending) - liveBytes; over > 0 {
		for over < len(l.pending) && !utf8.RuneStart(l.pending[over]) {
			over++
		}
		l.skipped += over
		l.pending = append(l.pending[:0], l.pending[over:]...)
	}
	if l.timer == nil && !l.closed {
		l.timer = time.AfterFunc(liveEvery, l.flush)
	}
}

// flush shows what is there, but for a character that is still coming.
func (l *liveText) flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timer = nil
	if !l.closed {
		l.show(wholeCharacters(l.pending))
	}
}

// close shows the rest.
func (l *liveText) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
	l.closed = true
	l.show(len(l.pending))
}

// show passes the first n bytes on.
func (l *liveText) show(n int) {
	if n == 0 {
		return
	}
	text := clean(l.pending[:n])
	if l.skipped > 0 {
		text = fmt.Sprintf("[… %d bytes not shown live …]\n", l.skipped) + text
	}
	l.pending, l.skipped = append(l.pending[:0], l.pending[n:]...), 0
	l.update(text)
}

// wholeCharacters is the length of b without a character that it holds only a part of.
func wholeCharacters(b []byte) int {
	for n := len(b) - 1; n >= 0 && n >= len(b)-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			if utf8.FullRune(b[n:]) {
				return len(b)
			}
			return n
		}
	}
	return len(b)
}
