package tui

import (
	"time"

	"github.com/plan-engine/plan/face/tui/draw"
	"github.com/plan-engine/plan/face/tui/story"
)

// scroll shows the blocks of a story in a window of rows. Only what is seen is drawn,
// and kept as long as block and width are the same: a run of thousands of turns costs
// no more than the rows of the window.
type scroll struct {
	theme  *draw.Theme
	blocks []*story.Block
	open   map[*story.Block]bool // those that are not as they are shown first
	all    bool                  // every one is unfolded
	drawn  map[*story.Block]drawing

	width, height int
	follow        bool // the end is shown, as it grows
	top           int  // the first block of the window
	skip          int  // and how many of its rows are above it
	picked        int  // block that keys mean; -1 for none
}

// drawing is what a block looked like.
type drawing struct {
	version, width int
	open           bool
	rows           []string
}

func newScroll(theme *draw.Theme) *scroll {
	return &scroll{
		theme:  theme,
		open:   map[*story.Block]bool{},
		drawn:  map[*story.Block]drawing{},
		follow: true,
		picked: -1,
	}
}

// isOpen reports whether a block is unfolded.
func (s *scroll) isOpen(b *story.Block) bool {
	return s.all || s.open[b]
}

// rows are those of a block. One that runs is drawn anew for its clock.
func (s *scroll) rows(b *story.Block, now time.Time) []string {
	open := s.isOpen(b)
	if d, ok := s.drawn[b]; ok && b.Done() && d.version == b.Version && d.width == s.width && d.open == open {
		return d.rows
	}
	const most = 4096 // blocks that are kept; more than are seen for a while
	if len(s.drawn) > most {
		clear(s.drawn)
	}
	rows := s.theme.Block(b, draw.View{Width: s.width - 2, Open: open, Now: now})
	s.drawn[b] = drawing{
		version: b.Version,
		width:   s.width,
		open:    open,
		rows:    rows,
	}
	return rows
}

// view is the window: rows of the width of it, with a mark beside the block that is
// picked.
func (s *scroll) view(now time.Time) []string {
	if s.follow {
		s.toEnd(now)
	}
	out := make([]string, 0, s.height)
	for at, skip := s.top, s.skip; at < len(s.blocks) && len(out) < s.height; at++ {
		rows := s.rows(s.blocks[at], now)
		for _, row := range rows[min(skip, len(rows)):] {
			if len(out) == s.height {
				break
			}
			mark := "  "
			if at == s.picked && row != "" {
				mark = s.theme.Accent.Render("▐") + " "
			}
			out = append(out, mark+row)
		}
		skip = 0
	}
	for len(out) < s.height {
		out = append(out, "")
	}
	return out
}

// toEnd has the window end with the last block.
func (s *scroll) toEnd(now time.Time) {
	s.top, s.skip = len(s.blocks), 0
	s.up(s.height, now)
}

// move goes so many rows down, or up where they are negative.
func (s *scroll) move(rows int, now time.Time) {
	if rows < 0 {
		s.follow = false
		s.up(-rows, now)
		return
	}
	for ; rows > 0 && s.top < len(s.blocks); rows-- {
		if s.skip++; s.skip >= len(s.rows(s.blocks[s.top], now)) {
			s.top, s.skip = s.top+1, 0
		}
	}
	if s.isAtEnd(now) {
		s.follow = true
	}
}

func (s *scroll) up(rows int, now time.Time) {
	for rows > 0 && (s.skip > 0 || s.top > 0) {
		if s.skip == 0 {
			s.top--
			s.skip = len(s.rows(s.blocks[s.top], now))
		}
		step := min(rows, s.skip)
		s.skip -= step
		rows -= step
	}
}

// isAtEnd reports whether no more rows follow below the window.
func (s *scroll) isAtEnd(now time.Time) bool {
	left := s.height + s.skip
	for at := s.top; at < len(s.blocks); at++ {
		if left -= len(s.rows(s.blocks[at], now)); left < 0 {
			return false
		}
	}
	return true
}

// toStart shows the beginning.
func (s *scroll) toStart() { s.follow, s.top, s.skip = false, 0, 0 }

// pick moves the choice by so many blocks that something is seen of, and shows it.
func (s *scroll) pick(by int, now time.Time) {
	at := s.picked
	if at < 0 {
		at = len(s.blocks)
		if by > 0 {
			at = s.top - 1
		}
	}
	for {
		at += by
		if at < 0 || at >= len(s.blocks) {
			return
		}
		if len(s.rows(s.blocks[at], now)) > 0 {
			break
		}
	}
	s.picked = at
	s.show(at, now)
}

// show brings a block into the window.
func (s *scroll) show(at int, now time.Time) {
	if at < s.top || at == s.top && s.skip > 0 {
		s.follow, s.top, s.skip = false, at, 0
		return
	}
	rows := -s.skip
	for i := s.top; i <= at; i++ {
		rows += len(s.rows(s.blocks[i], now))
	}
	if over := rows - s.height; over > 0 {
		last := len(s.rows(s.blocks[at], now))
		s.move(min(over, rows-last), now)
	}
}

// toggle folds or unfolds what is picked.
func (s *scroll) toggle(now time.Time) {
	if b := s.block(); b != nil {
		s.follow = false
		s.open[b] = !s.open[b]
		s.show(s.picked, now)
	}
}

// block is what is picked, nil for nothing.
func (s *scroll) block() *story.Block {
	if s.picked < 0 || s.picked >= len(s.blocks) {
		return nil
	}
	return s.blocks[s.picked]
}
