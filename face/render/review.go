package render

import (
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/host"
	"github.com/plan-engine/plan/internal/sanitize"
)

// The forms in which a review is handed over.
const (
	FormatText     = "text"
	FormatMarkdown = "markdown"
	FormatJSON     = "json"
	FormatSARIF    = "sarif"
)

// ReviewFormats lists them.
func ReviewFormats() []string { return []string{FormatText, FormatMarkdown, FormatJSON, FormatSARIF} }

// Review writes what a review came to as one document. Version is that of the program.
func Review(w io.Writer, format, version string, r host.Reviewed) error {
	if format == FormatMarkdown {
		return WriteLines(w, reviewMarkdown(r))
	}
	var document any = r
	if format == FormatSARIF {
		document = sarifOf(version, r)
	}
	data, err := plan.MarshalCompact(document)
	if err != nil {
		return fmt.Errorf("encode the review: %w", err)
	}
	if _, err := fmt.Fprintf(w, "%s\n", sanitize.JSON(data)); err != nil {
		return fmt.Errorf("write the review: %w", err)
	}
	return nil
}

// reviewMarkdown is a review for a comment on the change.
func reviewMarkdown(r host.Reviewed) []string {
	word, why := string(r.State), ""
	if r.Parked != nil {
		word, why = "parked: "+string(r.Parked.Reason), r.Parked.Detail
	}
	if r.Verdict != nil {
		why = r.Verdict.Why
	}
	lines := []string{"# Review: " + SafeLine(word), ""}
	if why != "" {
		lines = append(lines, SafeLine(why), "")
	}
	lines = append(lines, DiffWords(r.Diff))
	section := func(title string, items []string) {
		if len(items) > 0 {
			lines = append(append(lines, "", "## "+title, ""), items...)
		}
	}
	var gaps, checklist, checks, notes []string
	if r.Verdict != nil {
		for _, c := range r.Verdict.Checklist {
			met := map[bool]string{true: "x", false: " "}[c.Met]
			checklist = append(checklist, fmt.Sprintf("- [%s] %s (%s)", met, SafeLine(c.Item), SafeLine(c.Evidence)))
		}
	}
	for _, g := range r.Gaps {
		place := placeWord(g.Place)
		head := fmt.Sprintf("- **%s** (%s)%s: ", SafeLine(g.ID), SafeLine(g.Severity), place)
		text := strings.TrimPrefix(SafeLine(g.Gap.Gap), strings.Trim(place, " `")+": ") // it may begin with it
		gaps = append(gaps, head+text)
	}
	for _, c := range r.Checks {
		checks = append(checks, fmt.Sprintf("- %s `%s`%s", passWord(&c), SafeLine(c.Command), checkNote(c)))
	}
	for _, n := range r.Notes {
		notes = append(notes, "- "+SafeLine(n.Note))
	}
	section("Gaps", gaps)
	section("What was asked", checklist)
	section("Checks", checks)
	section("Notes", notes)
	return lines
}

// placeWord is a place in Markdown, with a space before it.
func placeWord(at host.Place) string {
	switch {
	case at.Path == "":
		return ""
	case at.Line == 0:
		return fmt.Sprintf(" `%s`", SafeLine(at.Path))
	}
	return fmt.Sprintf(" `%s:%d`", SafeLine(at.Path), at.Line)
}

// sarif is a log in the Static Analysis Results Interchange Format, 2.1.0, as far as a
// review has something to say in it.
type sarif struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool        sarifTool         `json:"tool"`
	Invocations []sarifInvocation `json:"invocations"`
	Results     []sarifResult     `json:"results"`
}

type sarifTool struct {
	Driver sarifDriver `json:"driver"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string    `json:"id"`
	Short sarifText `json:"shortDescription"`
}

type sarifText struct {
	Text string `json:"text"`
}

type sarifInvocation struct {
	Successful bool `json:"executionSuccessful"` // a verdict was reached
	ExitCode   int  `json:"exitCode"`
}

type sarifResult struct {
	Rule      string          `json:"ruleId"`
	Level     string          `json:"level"`
	Message   sarifText       `json:"message"`
	Locations []sarifLocation `json:"locations,omitempty"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI string `json:"uri"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

// levelOf is how much a result of a rule matters.
func levelOf(rule string) string {
	switch rule {
	case plan.SeverityShould:
		return "warning"
	case ruleNote:
		return "note"
	}
	return "error"
}

// The rules beside the severities of gaps.
const (
	ruleCheck = "check"
	ruleNote  = "note"
)

// sarifOf is a review as results at their lines.
func sarifOf(version string, r host.Reviewed) sarif {
	run := sarifRun{
		Tool: sarifTool{Driver: sarifDriver{
			Name:    "plan",
			Version: version,
			Rules: []sarifRule{
				{ID: plan.SeverityMust, Short: sarifText{Text: "A requirement that is not met, or a wrong result"}},
				{ID: plan.SeverityShould, Short: sarifText{Text: "Something that is desirable"}},
				{ID: ruleCheck, Short: sarifText{Text: "A check that fails"}},
				{ID: ruleNote, Short: sarifText{Text: "A remark of the reviewer"}},
			},
		}},
		Invocations: []sarifInvocation{{
			Successful: r.Verdict != nil && r.State.Final() && r.State != plan.Failed && r.State != plan.Cancelled,
			ExitCode:   r.ExitCode,
		}},
		Results: []sarifResult{},
	}
	add := func(rule, text string, at host.Place) {
		if at.Path == "" && len(r.Files) > 0 {
			at.Path = r.Files[0] // some who read logs refuse them for one result without a place
		}
		run.Results = append(run.Results, sarifResult{
			Rule:      rule,
			Level:     levelOf(rule),
			Message:   sarifText{text},
			Locations: locationOf(at),
		})
	}
	for _, g := range r.Gaps {
		rule := plan.SeverityMust
		if g.Severity == plan.SeverityShould {
			rule = plan.SeverityShould
		}
		add(rule, g.ID+": "+g.Gap.Gap, g.Place)
	}
	for _, c := range r.Checks {
		if c.Fails() {
			add(
				ruleCheck,
				fmt.Sprintf("The check `%s` fails with exit status %d.", c.Command, c.ExitCode),
				host.Place{},
			)
		}
	}
	for _, n := range r.Notes {
		add(ruleNote, n.Note, n.Place)
	}
	return sarif{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{run},
	}
}

// locationOf is a place as the file and the line; its first where none is named.
func locationOf(at host.Place) []sarifLocation {
	if at.Path == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(at.Path, "./"), "/")
	for i, p := range parts {
		parts[i] = url.PathEscape(p)
	}
	return []sarifLocation{{Physical: sarifPhysical{
		Artifact: sarifArtifact{URI: strings.Join(parts, "/")},
		Region:   sarifRegion{StartLine: max(at.Line, 1)},
	}}}
}
