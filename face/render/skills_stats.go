package render

import (
	"fmt"
	"html"
	"io"
	"strconv"
	"strings"

	"github.com/plan-engine/plan/host/learning"
	"github.com/plan-engine/plan/skills"
)

// sparklineWidth is how many columns a density takes in a table.
const sparklineWidth = 32

// SkillStats writes a table of how well skills have done.
func SkillStats(w io.Writer, stats []learning.Stat) error {
	if len(stats) == 0 {
		return writef(w, "No skill has a record yet. Records come from the reviews of runs that loaded one.\n")
	}
	rows := [][]string{{"SKILL", "PHASE", "PULLS", "MEAN", "95 %", "DENSITY FROM 0 TO 1"}}
	for _, s := range stats {
		name := statName(s)
		if s.Stale {
			name += " (changed or gone)"
		}
		rows = append(rows, []string{
			name,
			string(s.Phase),
			strconv.Itoa(s.Pulls),
			fmt.Sprintf("%.2f", s.Mean),
			fmt.Sprintf("%.2f–%.2f", s.Low, s.High),
			sparkline(s, sparklineWidth),
		})
	}
	return writeTable(w, rows)
}

func statName(s learning.Stat) string {
	if s.Skill == "" {
		return "(no skill)"
	}
	return s.Skill
}

// densities samples what is believed of a skill's rate of success at n points
// from 0 to 1.
func densities(s learning.Stat, n int) []float64 {
	p := skills.Posterior{
		Alpha: s.Alpha,
		Beta:  s.Beta,
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = p.Density((float64(i) + 0.5) / float64(n))
	}
	return out
}

// sparkline draws a density in a line of text.
func sparkline(s learning.Stat, width int) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	values := densities(s, width)
	top := 0.0
	for _, v := range values {
		top = max(top, v)
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(levels[int(v/top*float64(len(levels)-1)+0.5)])
	}
	return b.String()
}

// SkillStatsSVG draws the densities of all skills in one picture.
func SkillStatsSVG(stats []learning.Stat) []byte {
	const (
		width  = 720
		height = 420
		pad    = 48
		row    = 20 // of the legend below
		points = 200
	)
	colours := []string{"#2563eb", "#15803d", "#d97706", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4b5563"}
	curves := make([][]float64, len(stats))
	top := 1.0
	for n, s := range stats {
		curves[n] = densities(s, points)
		for _, v := range curves[n] {
			top = max(top, v)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"`, width, height+row*len(stats))
	b.WriteString(` font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>`)
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="16">What is believed of each skill's rate of success</text>`, pad)
	fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#111"/>`, pad, height-pad, width-pad)
	for i := range 6 {
		x := pad + i*(width-2*pad)/5
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%.1f</text>`, x, height-pad+18, float64(i)/5)
	}
	for n, s := range stats {
		colour := colours[n%len(colours)]
		var line strings.Builder
		for i, y := range curves[n] {
			x := (float64(i) + 0.5) / points
			fmt.Fprintf(&line, "%.1f,%.1f ", pad+x*(width-2*pad), height-pad-y/top*(height-2*pad-20))
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`, colour, line.String())
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">`, pad, height+row*n, colour)
		fmt.Fprintf(&b, `%s in %s: `, html.EscapeString(statName(s)), s.Phase)
		fmt.Fprintf(&b, `%.2f (%.2f–%.2f), %d pulls</text>`, s.Mean, s.Low, s.High, s.Pulls)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
