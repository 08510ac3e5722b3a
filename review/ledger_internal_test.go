package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
)

func TestLedger(t *testing.T) {
	t.Parallel()
	gap := func(id, text, severity string, status plan.GapStatus) plan.Gap {
		return plan.Gap{ID: id, Gap: text, Severity: severity, Status: status}
	}
	ledger := []plan.Gap{
		gap("G1", "No tests.", "must", plan.GapOpened),
		gap("G2", "no docs", "should", plan.GapOpened),
		gap("G7", "no help", "must", plan.GapOpened),
		gap("G7", "no help", "must", plan.GapClosed), // later entries count
	}
	tests := map[string]struct {
		gaps    []plan.Gap
		missing []plan.Missing
		all     bool
		want    []plan.Gap
	}{
		"nothing":              {nil, nil, true, nil},
		"first":                {nil, []plan.Missing{{Gap: " a "}, {Gap: "b", Severity: "should"}}, true, []plan.Gap{gap("G1", "a", "must", plan.GapOpened), gap("G2", "b", "should", plan.GapOpened)}},
		"unchanged":            {ledger, []plan.Missing{{ID: "G1", Gap: "No tests.", Severity: "must"}, {ID: "g2"}}, true, nil},
		"same words":           {ledger, []plan.Missing{{Gap: "no  TESTS", Severity: "must"}}, false, []plan.Gap{gap("G1", "no  TESTS", "must", plan.GapOpened)}},
		"reworded":             {ledger, []plan.Missing{{ID: "G1", Gap: "no unit tests"}}, false, []plan.Gap{gap("G1", "no unit tests", "must", plan.GapOpened)}},
		"closed":               {ledger, []plan.Missing{{ID: "G1"}}, true, []plan.Gap{gap("G2", "no docs", "should", plan.GapClosed)}},
		"not the whole":        {ledger, nil, false, nil},
		"reopened by id":       {ledger, []plan.Missing{{ID: "G7"}}, false, []plan.Gap{gap("G7", "no help", "must", plan.GapReopened)}},
		"reopened by words":    {ledger, []plan.Missing{{Gap: "No help!"}}, false, []plan.Gap{gap("G7", "No help!", "must", plan.GapReopened)}},
		"new number":           {ledger, []plan.Missing{{Gap: "x"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"unknown id":           {ledger, []plan.Missing{{ID: "G3", Gap: "x"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"unknown id, no words": {ledger, []plan.Missing{{ID: "G3"}, {Gap: " "}}, false, nil},
		"named twice":          {ledger, []plan.Missing{{Gap: "x"}, {Gap: "X."}, {ID: "G2"}, {Gap: "no docs"}}, false, []plan.Gap{gap("G8", "x", "must", plan.GapOpened)}},
		"other ids":            {[]plan.Gap{gap("A-1", "a", "must", plan.GapOpened), gap("", "", "", "")}, []plan.Missing{{Gap: "b"}, {Gap: "..."}}, false, []plan.Gap{gap("G1", "b", "must", plan.GapOpened), gap("G2", "...", "must", plan.GapOpened)}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes, _ := matchGaps(tt.gaps, tt.missing, tt.all)
			if diff := cmp.Diff(tt.want, changes); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
