package host

import (
	"cmp"
	"strings"
	"sync"

	"github.com/plan-engine/plan/config"
	"github.com/plan-engine/plan/internal/amount"
	"github.com/plan-engine/plan/worktree"
)

const (
	// slowUntracked is the size from which git reads a file for seconds.
	slowUntracked = 200 << 20
)

// large says how a repository's large untracked files are treated. It is the same for
// all commands of a home: a snapshot by one of them is compared with the tree by another.
// So a setting that cannot be read is an error of the command that reads all of them.
func (h *Host) large(home, dir string) worktree.Large {
	most := int64(config.UsualMaxUntracked)
	if cfg, _, err := config.Load(config.Source{Home: home}); err == nil {
		most = cmp.Or(int64(cfg.MaxUntracked), most)
	}
	return worktree.Large{
		Most: most,
		Slow: slowUntracked,
		Tell: func(paths []string, as worktree.Treatment) {
			text := "reading large untracked files, which may take a while: " + strings.Join(paths, ", ")
			switch as {
			case worktree.SlowRead:
			case worktree.Refused:
				text = "left out of snapshots, since git takes nothing of that name and kind: " +
					strings.Join(paths, ", ") + "; what happens to them is not seen, and not undone"
			case worktree.TooLarge:
				text = "left out of snapshots, being untracked and larger than " + amount.Bytes(most) +
					" (max_untracked): " + strings.Join(paths, ", ") +
					"; what happens to them is not seen, and not undone"
			}
			if h.home.tellOnce(dir + "\n" + text) {
				h.note(text)
			}
		},
	}
}

// noteLog are the notes that are made once.
type noteLog struct {
	mu    sync.Mutex
	texts map[string]bool
}

// tellOnce reports whether a text comes for the first time.
func (t *noteLog) tellOnce(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.texts[text] {
		return false
	}
	if t.texts == nil {
		t.texts = map[string]bool{}
	}
	t.texts[text] = true
	return true
}
