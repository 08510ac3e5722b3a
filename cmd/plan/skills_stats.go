package main

import (
	"context"
	"fmt"
	"html"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/skills"
)

// skillStat is a record in `plan skills stats --json`.
type skillStat struct {
	Skill string     `json:"skill"` // "" is to do without a skill
	Phase plan.Phase `json:"phase"`
	Pulls int        `json:"pulls"`
	Alpha float64    `json:"alpha"`
	Beta  float64    `json:"beta"`
	Mean  float64    `json:"mean"`
	Low   float64    `json:"low"` // of the 95 % interval
	High  float64    `json:"high"`
	Stale bool       `json:"stale,omitempty"` // the skill has changed since, or is gone
}

func (s skillStat) name() string {
	if s.Skill == "" {
		return "(no skill)"
	}
	return s.Skill
}

func (a *app) skillsStats() *cobra.Command {
	var svg string
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show how well skills have done: mean, 95 % interval, and the density of each",
		Example: `  plan skills stats
  plan skills stats --svg skills.svg`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSkills(cmd, func(ctx context.Context, l *learning) error {
				stats, err := l.stats(ctx)
				if err != nil {
					return err
				}
				if svg != "" {
					if err := os.WriteFile(svg, statsSVG(stats), 0o644); err != nil {
						return fmt.Errorf("write the picture: %w", err)
					}
				}
				if a.json {
					return a.document(stats)
				}
				return a.showStats(stats)
			})
		},
	}
	cmd.Flags().StringVar(&svg, "svg", "", "also draw the densities into `FILE`")
	return cmd
}

// stats are all records as they stand now.
func (l *learning) stats(ctx context.Context) ([]skillStat, error) {
	records, err := l.db.AllSkillRecords(ctx)
	if err != nil {
		return nil, err
	}
	c, _, err := l.find(ctx)
	if err != nil {
		return nil, err
	}
	out := []skillStat{}
	for _, r := range records {
		s, ok := c.Get(r.Skill)
		stat := skillStat{
			Skill: r.Skill,
			Phase: r.Phase,
			Pulls: r.Pulls,
			Stale: r.Skill != "" && (!ok || s.Digest != r.Version),
		}
		s.Name, s.Digest = r.Skill, r.Version
		p := skills.PosteriorOf(r, s, l.now())
		stat.Alpha, stat.Beta, stat.Mean = p.Alpha, p.Beta, p.Mean()
		stat.Low, stat.High = p.Interval(0.95)
		out = append(out, stat)
	}
	return out, nil
}

func (a *app) showStats(stats []skillStat) error {
	if len(stats) == 0 {
		_, err := fmt.Fprintln(
			a.out,
			"No skill has a record yet. Records come from the reviews of runs that loaded one.",
		)
		return err //nolint:wrapcheck // withSkills tells it
	}
	tw := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "SKILL\tPHASE\tPULLS\tMEAN\t95 %\tDENSITY FROM 0 TO 1")
	for _, s := range stats {
		note := ""
		if s.Stale {
			note = " (changed or gone)"
		}
		fmt.Fprintf(
			tw,
			"%s%s\t%s\t%d\t%.2f\t%.2f–%.2f\t%s\n",
			s.name(),
			note,
			s.Phase,
			s.Pulls,
			s.Mean,
			s.Low,
			s.High,
			sparkline(s, 32),
		)
	}
	return tw.Flush() //nolint:wrapcheck // withSkills tells it
}

// sparkline draws a density in a line of text.
func sparkline(s skillStat, width int) string {
	levels := []rune(" ▁▂▃▄▅▆▇█")
	p := skills.Posterior{Alpha: s.Alpha, Beta: s.Beta}
	values, top := make([]float64, width), 0.0
	for i := range values {
		values[i] = p.Density((float64(i) + 0.5) / float64(width))
		top = max(top, values[i])
	}
	var b strings.Builder
	for _, v := range values {
		b.WriteRune(levels[int(v/top*float64(len(levels)-1)+0.5)])
	}
	return b.String()
}

// statsSVG draws all densities in one picture.
func statsSVG(stats []skillStat) []byte {
	const w, h, pad, points = 720, 420, 48, 200
	colours := []string{"#2563eb", "#15803d", "#d97706", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4b5563"}
	top := 1.0
	for _, s := range stats {
		for i := range points {
			top = max(top, skills.Posterior{Alpha: s.Alpha, Beta: s.Beta}.Density((float64(i)+0.5)/points))
		}
	}
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="13"><rect width="100%%" height="100%%" fill="#fff"/>`,
		w,
		h+20*len(stats),
	)
	fmt.Fprintf(&b, `<text x="%d" y="28" font-size="16">What is believed of each skill's rate of success</text>`, pad)
	fmt.Fprintf(&b, `<path d="M%d %dH%d" stroke="#111"/>`, pad, h-pad, w-pad)
	for i := range 6 {
		x := pad + i*(w-2*pad)/5
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%.1f</text>`, x, h-pad+18, float64(i)/5)
	}
	for n, s := range stats {
		colour := colours[n%len(colours)]
		var line strings.Builder
		for i := range points {
			x := (float64(i) + 0.5) / points
			y := skills.Posterior{Alpha: s.Alpha, Beta: s.Beta}.Density(x)
			fmt.Fprintf(&line, "%.1f,%.1f ", pad+x*(w-2*pad), h-pad-y/top*(h-2*pad-20))
		}
		fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>`, colour, line.String())
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="%s">%s in %s: %.2f (%.2f–%.2f), %d pulls</text>`,
			pad, h+20*n, colour, html.EscapeString(s.name()), s.Phase, s.Mean, s.Low, s.High, s.Pulls)
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}
