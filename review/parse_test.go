package review_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

const (
	done  = `{"verdict":"DONE"}`
	needs = `{"verdict":"NEEDS_FIX","missing":["a"]}`
)

// parse reads the first answer of a reviewer, second the one to a question
// about its form.
func parse(text string) (plan.Verdict, error) { return review.Parse(review.Answer{Text: text}) }

func second(text string) (plan.Verdict, error) {
	return review.Parse(review.Answer{Text: text, FormatRetry: true})
}

func TestParseFindsTheVerdict(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want plan.VerdictKind
	}{
		"bare":                       {done, plan.Done},
		"json fence":                 {"```json\n" + done + "\n```", plan.Done},
		"plain fence":                {"```\n" + done + "\n```", plan.Done},
		"other tag":                  {"```JSON5 title=x\n" + done + "\n```", plan.Done},
		"tilde fence":                {"~~~\n" + done + "\n~~~", plan.Done},
		"four backticks":             {"````json\n" + done + "\n````", plan.Done},
		"indented fence":             {"  1. so:\n     ```json\n     " + done + "\n     ```", plan.Done},
		"unclosed fence":             {"```json\n" + done, plan.Done},
		"fence on one line":          {"```json " + done + " ```", plan.Done},
		"quoted block":               {"> ok\n\n" + done, plan.Done},
		"byte order mark":            {"\ufeff" + done, plan.Done},
		"CRLF":                       {"Read it.\r\n```json\r\n{\r\n  \"verdict\": \"DONE\"\r\n}\r\n```\r\n", plan.Done},
		"text after":                 {needs + "\nThat is all.", plan.NeedsFix},
		"prose with braces before":   {"In `func main() {` and `}` all is well. Set {a, b}.\n" + done, plan.Done},
		"prose with braces after":    {needs + "\nThe map {a: 1} stays, as does \"{\".", plan.NeedsFix},
		"stray brace before":         {"It prints \"{\" at first.\n" + done, plan.Done},
		"stray brace on the line":    {`It prints "{" and "(". ` + done, plan.Done},
		"a quoted diff around":       {"-func a() {\n+func b() {\n+\tfor {\n" + done + "\n }\n }\n", plan.Done},
		"code around":                {"if ok {\n" + done + "\n}", plan.Done},
		"doubled braces":             {"{" + done + "}", plan.Done},
		"stray quote before":         {`The 5" disk. ` + done, plan.Done},
		"stray bracket before":       {"ESC[1m see [note " + done, plan.Done},
		"JSON begun in prose":        {"The handler emits {\"a\": and stops.\n" + done, plan.Done},
		"a string begun in prose":    {"The handler emits {\"a\": \"x and stops.\n" + done, plan.Done},
		"markdown boxes":             {"- [x] built\n- [ ] shipped\n[link](http://x)\n" + done, plan.Done},
		"braces in strings":          {`{"verdict":"DONE","checklist":[{"item":"} { \" }","met":true,"evidence":"a\\"}]}`, plan.Done},
		"fence in a string":          {"```json\n{\"verdict\":\"NEEDS_FIX\",\"missing\":\"- show ```json\\n{}\\n``` in the help\"}\n```", plan.NeedsFix},
		"two that agree":             {done + "\nAs asked:\n" + done, plan.Done},
		"two that agree on gaps":     {needs + "\nAs asked:\n" + needs + "\nSo.", plan.NeedsFix},
		"later object without one":   {needs + "\n{\"a\":1}", plan.NeedsFix},
		"earlier object without one": {"It prints {\"a\":1} now.\n" + done, plan.Done},
		"a broken object before":     {"{this is not json}\n" + done, plan.Done},
		"a broken object after":      {needs + "\n{this is not json}", plan.NeedsFix},
		"a verdict in an item":       {`{"verdict":"NEEDS_FIX","checklist":[{"item":"x","met":true,"evidence":"","verdict":"DONE"}]}`, plan.NeedsFix},
		"same word twice":            {`{"verdict":"DONE","verdict":"done"}`, plan.Done},
		"mixed case":                 {`{"verdict":" Needs-fix "}`, plan.NeedsFix},
		"space":                      {`{"verdict":"needs fix"}`, plan.NeedsFix},
		"blocked":                    {`{"verdict":"Blocked"}`, plan.CannotSay},
		"escaped letters":            {`{"verdict":"\u0044ONE"}`, plan.Done},
		"unreadable missing, no":     {`{"verdict":"NEEDS_FIX","missing":7,"checklist":true}`, plan.NeedsFix},
		"missing null":               {`{"verdict":"DONE","missing":null,"checklist":null,"commands":null}`, plan.Done},
		"invalid UTF-8 around":       {"\xff\xfe " + needs + "\xff", plan.NeedsFix},
		"closing brackets before":    {"}}]] " + done, plan.Done},
		"huge prose":                 {strings.Repeat("no { or \" here\n", 50_000) + done, plan.Done},
		"a verdict is only promised": {"verdict: DONE soon\n" + needs, plan.NeedsFix},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := parse(tt.text)
			if err != nil || v.Verdict != tt.want {
				t.Errorf("Parse = %q, %v; want %q", v.Verdict, err, tt.want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, why string }{
		"empty":                   {"", "empty"},
		"blank":                   {" \r\n\t", "empty"},
		"byte order mark alone":   {"\ufeff", "empty"},
		"no object":               {"The work is DONE.", "no JSON object"},
		"a line of words":         {"verdict: DONE", "no JSON object"},
		"array":                   {"[" + done + "]", "top level"},
		"array of other things":   {`[1, "a", {"b":2}, ` + done + "]", "top level"},
		"array over lines":        {"```json\n[\n  " + done + "\n]\n```", "top level"},
		"nested":                  {`{"result":` + done + `}`, "top level"},
		"nested, broken outside":  {`{"result":` + done + `,}`, "not valid"},
		"nested, no quotes":       {`{result:` + done + `}`, "not valid"},
		"in a string":             {`{"text":"{\"verdict\":\"DONE\"}"}`, "no JSON object"},
		"nested, single quotes":   {`{'result': ` + done + `}`, "not valid"},
		"nested, after a comment": {"{ // so\n\"result\": " + done + "}", "not valid"},
		"single quotes":           {`{'verdict':'DONE'}`, "not valid"},
		"no quotes":               {`{verdict: DONE}`, "not valid"},
		"trailing comma":          {`{"verdict":"DONE",}`, "not valid"},
		"line comment":            {"{\"verdict\":\"DONE\" // yes\n}", "not valid"},
		"block comment":           {`{/* yes */"verdict":"DONE"}`, "not valid"},
		"raw line break":          {"{\"verdict\":\"DONE\",\"checklist\":\"a\nb\"}", "not valid"},
		"unknown word":            {`{"verdict":"MAYBE"}`, `"MAYBE"`},
		"word and more":           {`{"verdict":"DONE."}`, `"DONE."`},
		"negated word":            {`{"verdict":"NOT DONE"}`, `"NOT DONE"`},
		"both words":              {`{"verdict":"DONE | NEEDS_FIX"}`, "must be"},
		"empty word":              {`{"verdict":""}`, "must be"},
		"true":                    {`{"verdict":true}`, "not a string"},
		"null":                    {`{"verdict":null}`, "not a string"},
		"list of a word":          {`{"verdict":["DONE"]}`, "not a string"},
		"two words":               {`{"verdict":"DONE","verdict":"NEEDS_FIX"}`, "twice"},
		"two words, other order":  {`{"verdict":"NEEDS_FIX","verdict":"DONE"}`, "twice"},
		"two lists":               {`{"verdict":"DONE","missing":["a"],"missing":[]}`, "twice"},
		"two mets":                {`{"verdict":"DONE","checklist":[{"item":"a","met":false,"met":true}]}`, "twice"},
		"two exit codes":          {`{"verdict":"DONE","commands":[{"command":"a","exit_code":1,"exit_code":0}]}`, "twice"},
		"cut off":                 {`{"verdict":"DONE"`, "not valid"},
		"two verdicts":            {done + "\n" + needs, "two verdicts, DONE and NEEDS_FIX"},
		"two, other order":        {needs + "\nFixed since.\n" + done, "two verdicts, NEEDS_FIX and DONE"},
		"two lists of gaps":       {needs + "\n" + `{"verdict":"NEEDS_FIX","missing":["b"]}`, "differ in the rest"},
		"shape before an answer":  {`I answer as {"verdict": "DONE | NEEDS_FIX"}:` + "\n" + needs, "must be"},
		"later nested":            {done + "\n{\"b\":{\"verdict\":\"NEEDS_FIX\"}}", "top level"},
		"cut off in an item":      {`{"verdict":"NEEDS_FIX","checklist":[{"item":"x","verdict":"DONE"}`, "not closed"},
		"cut off after another":   {done + "\nNo, wait:\n" + `{"verdict":"NEEDS_FIX","missing":["a`, "not closed"},
		"broken after another":    {done + "\nNo, wait:\n" + `{"verdict":"NEEDS_FIX",}`, "not valid"},
		"missing a number":        {`{"verdict":"DONE","missing":3}`, `"missing"`},
		"missing nested lists":    {`{"verdict":"DONE","missing":[["a"]]}`, `"missing"`},
		"gap a number":            {`{"verdict":"DONE","missing":[{"gap":3}]}`, `"gap"`},
		"met a word":              {`{"verdict":"DONE","checklist":[{"item":"a","met":"yes"}]}`, `"met"`},
		"met absent":              {`{"verdict":"DONE","checklist":[{"item":"a"}]}`, `"met"`},
		"item absent":             {`{"verdict":"DONE","checklist":{"tests":true}}`, `"item"`},
		"exit code a word":        {`{"verdict":"DONE","commands":[{"command":"a","exit_code":"ok"}]}`, `"exit_code"`},
		"command absent":          {`{"verdict":"DONE","commands":[{"cmd":"a","exit_code":0}]}`, `"command"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := parse(tt.text)
			var pe *review.ParseError
			if !errors.As(err, &pe) {
				t.Fatalf("Parse = %+v, %v; want a *ParseError", v, err)
			}
			if !strings.Contains(pe.Why, tt.why) || strings.ContainsAny(pe.Why, "\n") {
				t.Errorf("why = %q; want %q in it, on one line", pe.Why, tt.why)
			}
		})
	}
}

func TestParseReadsTheParts(t *testing.T) {
	t.Parallel()
	v, err := parse(`{"verdict":"NEEDS_FIX",
		"checklist":[{"item":" builds ","met":true,"evidence":"make"},{"item":"tested","met":false,"evidence":null},{}],
		"missing":[{"id":"G2","gap":"no test","severity":"Should"},{"gap":"no docs"},"G3: no help",null,"",{"id":"","gap":" "}],
		"commands":[{"command":"make","exit_code":0},{"command":"make test","exit_code":"2"},"make lint","",
			{"command":"","exit_code":1,"call":"b7"},"b8"],
		"notes":["slow","None.",null,{"note":"old"},{}], "no_change":" it is there ", "unchanged":"words only"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := plan.Verdict{
		Verdict:   plan.NeedsFix,
		Checklist: []plan.ListItem{{Item: "builds", Met: true, Evidence: "make"}, {Item: "tested"}},
		Missing: []plan.Missing{
			{ID: "G2", Gap: "no test", Severity: plan.SeverityShould},
			{Gap: "no docs", Severity: plan.SeverityMust},
			{ID: "G3", Gap: "no help", Severity: plan.SeverityMust},
		},
		Commands: []plan.RanCommand{
			{Command: "make"},
			{Command: "make test", ExitCode: 2},
			{Command: "make lint"},
			{Call: "b7", ExitCode: 1},
			{Command: "b8"},
		},
		Notes:     []string{"slow", "old"},
		NoChange:  "it is there",
		Unchanged: "words only",
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestParseSplitsStrings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		missing string
		want    []string
	}{
		"blank":           {" \n\t\n", nil},
		"a bullet alone":  {"-", nil},
		"none":            {"None.", nil},
		"bulleted none":   {"- n/a", nil},
		"one line":        {"no tests", []string{"no tests"}},
		"lines":           {"no tests\nno docs", []string{"no tests", "no docs"}},
		"CRLF bullets":    {"- no tests\r\n- no docs\r\n", []string{"no tests", "no docs"}},
		"other bullets":   {"* a\n+ b\n• c\n1. d\n2) e", []string{"a", "b", "c", "d", "e"}},
		"heading":         {"Left to do:\n- a\n- b", []string{"a", "b"}},
		"words before":    {"Nearly there\n- a", []string{"Nearly there", "a"}},
		"lines go on":     {"- a\n  and more\n- b", []string{"a\nand more", "b"}},
		"paragraph":       {"- a\n\nand b", []string{"a", "and b"}},
		"dash in a word":  {"-x is not parsed", []string{"-x is not parsed"}},
		"backticks":       {"- `go vet` fails", []string{"`go vet` fails"}},
		"other languages": {"- 空のファイル 😀", []string{"空のファイル 😀"}},
		"known id":        {"- G1: no tests\n- **G2** no docs\n- [g3] - no help\n- G4", []string{"G1|no tests", "G2|no docs", "G3|no help", "G4|"}},
		"no id":           {"- G1 garbage is kept\n- G1.5 is gone", []string{"G1 garbage is kept", "G1.5 is gone"}},
		"dots are a gap":  {"...", []string{"..."}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, err := json.Marshal(map[string]string{"verdict": "NEEDS_FIX", "missing": tt.missing})
			if err != nil {
				t.Fatal(err)
			}
			v, err := parse(string(text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range v.Missing {
				if m.ID != "" {
					m.Gap = m.ID + "|" + m.Gap
				}
				got = append(got, m.Gap)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseReadsMarksInAChecklistOfWords(t *testing.T) {
	t.Parallel()
	v, err := second(`{"verdict":"DONE","checklist":"- [x] a\n- [ ] b\n- ✅ c\n- ❌ d\n- e\n- ☐ f\n- ⚠️ g\n- ✔️ h\n- [~] i\n- ☑ j\n- k ❌"}`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, item := range v.Checklist {
		if item.Met {
			got = append(got, item.Item)
		}
		if !item.Prose {
			t.Errorf("%+v is given in words", item)
		}
	}
	if diff := cmp.Diff([]string{"a", "c", "e", "h", "j"}, got); diff != "" || len(v.Checklist) != 11 {
		t.Errorf("%d items, met (-want +got):\n%s", len(v.Checklist), diff)
	}
}

// A gap in other words than those asked for must not turn into no gap.
func TestParseKeepsAGapItCannotRead(t *testing.T) {
	t.Parallel()
	v, err := parse(`{"verdict":"DONE","missing":[{"description":"no tests"}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(v.Missing) != 1 || !strings.Contains(v.Missing[0].Gap, "no tests") {
		t.Errorf("missing = %+v", v.Missing)
	}
}

func quote(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
