package host_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/memory"
)

func TestGCChooses(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	var runs []memory.RunInfo // R1 is a day old, R5 five days
	sizes := map[plan.RunID]int64{}
	for i := 1; i <= 5; i++ {
		id := plan.RunID(fmt.Sprint("R", i))
		runs = append(runs, memory.RunInfo{ID: id, Updated: now.AddDate(0, 0, -i).Add(-time.Hour)})
		sizes[id] = 100
	}
	for name, c := range map[string]struct {
		keep        string // "" when it was not given
		older, size string
		want        string
	}{
		"all but two":            {"2", "", "", "R3 R4 R5"},
		"all":                    {"0", "", "", "R1 R2 R3 R4 R5"},
		"old ones":               {"", "3d", "", "R3 R4 R5"},
		"old ones, not the last": {"4", "3d", "", "R5"},
		"hours":                  {"", "120h", "", "R5"},
		"down to a size":         {"", "", "1800B", "R5 R4"},
		"a size that it has":     {"", "", "2KB", ""},
		"a size never reached":   {"3", "", "1B", "R5 R4"},
		"old ones and a size":    {"", "5d", "1.8KB", "usage"},
		"both":                   {"", "5d", "1800", "R5 R4"},
	} {
		p := host.GCPolicy{KeepAlone: c.keep != "" && c.older == "" && c.size == ""}
		_, _ = fmt.Sscan(c.keep, &p.Keep)
		var got []string
		if err := p.Read(c.older, c.size); err != nil {
			got = []string{"usage"}
		} else {
			for _, r := range p.Choose(runs, sizes, 2000, now) {
				got = append(got, string(r.ID))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %q goes, want %q", name, text, c.want)
		}
	}
}
