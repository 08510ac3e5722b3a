package review_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plan-engine/plan"
	"github.com/plan-engine/plan/review"
)

// doneAnd is a DONE with more in its object.
func doneAnd(more string) string { return `{"verdict":"DONE",` + more + `}` }

// said is a DONE with one requirement that is said to be met.
func said(item string) string { return doneAnd(`"checklist":[{"item":"` + item + `","met":true}]`) }

// reading is what an answer is read as: the word of the verdict, or a part of
// why it is refused.
type reading struct {
	first string // as a first answer
	again string // as the answer to a question about its form
}

var isDone = reading{"DONE", "DONE"}

func (r reading) check(t *testing.T, text string) {
	t.Helper()
	for _, again := range []bool{false, true} {
		want := r.first
		if again {
			want = r.again
		}
		v, err := review.Parse(review.Answer{Text: text, FormatRetry: again})
		got := string(v.Verdict)
		if v.Verdict == plan.Done && unmet(v) {
			got = "NEEDS_FIX" // as Judge has it
		}
		var pe *review.ParseError
		if errors.As(err, &pe) {
			got = pe.Why
			if len(pe.Excerpt) > 510 {
				t.Errorf("%d bytes are quoted", len(pe.Excerpt))
			}
		}
		isWord := want == "DONE" || want == "NEEDS_FIX"
		if !strings.Contains(got, want) || isWord && got != want {
			t.Errorf("again %v: %q, want %q", again, got, want)
		}
	}
}

func unmet(v plan.Verdict) bool {
	for _, item := range v.Checklist {
		if !item.Met {
			return true
		}
	}
	return false
}

func TestReasoningDoesNotCount(t *testing.T) {
	t.Parallel()
	none := reading{"no JSON object", "no JSON object"}
	empty := reading{"empty", "empty"}
	fix := reading{"NEEDS_FIX", "NEEDS_FIX"}
	for name, tt := range map[string]struct {
		text string
		want reading
	}{
		"DONE in it":             {"<think>So " + done + "</think>\nThe tests fail.", none},
		"DONE in it alone":       {"<think>" + done + "</think>", empty},
		"never closed":           {"<think>\nI would say\n" + done, empty},
		"never opened":           {"I would say " + done + "\n</think>\n", empty},
		"another word":           {"<thinking>" + done + "</thinking>\n" + needs, fix},
		"a third word":           {"<reasoning>" + done + "</reasoning>\n" + needs, fix},
		"capitals":               {"<THINK>" + done + "</Think>\n" + needs, fix},
		"attributes":             {`<think time="3s">` + done + "</think>\n" + needs, fix},
		"a name space":           {"<seed:think>" + done + "</seed:think>\n" + needs, fix},
		"brackets":               {"[THINK]" + done + "[/THINK]\n" + needs, fix},
		"scratchpad":             {"<scratchpad>" + done + "</scratchpad>" + needs, fix},
		"behind the answer":      {needs + "\n<think>or " + done, fix},
		"nested":                 {"<think>a<think>b</think>" + done + "</think>" + needs, fix},
		"several":                {"<think>a</think>" + needs + "<think>" + done + "</think>", fix},
		"a brace begun in it":    {"<think>it emits {\"a\": and</think>\n" + needs, fix},
		"a string begun in it":   {"<think>it emits {\"a\": \"</think>\n" + done, isDone},
		"never opened, later":    {done + "<think>a</think>No.</think>" + needs, fix},
		"inside the object":      {`{"verdict":"DO<think>x</think>NE"}`, isDoneNever},
		"NEEDS_FIX in it":        {"<think>first " + needs + " but it is fixed</think>\n" + done, isDone},
		"NEEDS_FIX, never begun": {"first " + needs + " but no\n</think>\n" + done, isDone},
		"before an answer":       {"<think>all holds</think>" + done, isDone},
		"behind a DONE":          {done + "<think>that was it</think>", isDone},
		"a tag in code quotes":   {"It removes `<think>` now.\n" + done, isDone},
		"a tag in a string":      {said("removes <think>"), isDone},
		"an end in a string":     {doneAnd(`"notes":["</think> stays where it is quoted"]`), isDone},
		"a tag in a gap":         {`{"verdict":"NEEDS_FIX","missing":["</think> stays"]}`, fix},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.check(t, tt.text)
		})
	}
}

// isDoneNever is for a text that must not be put together to a DONE.
var isDoneNever = reading{"must be", "must be"}

func TestACutAnswerIsNoVerdict(t *testing.T) {
	t.Parallel()
	for _, text := range []string{done, needs, done + "\nBut", "", "<think>" + done} {
		v, err := review.Parse(review.Answer{Text: text, Truncated: true})
		if err == nil || v.Verdict != plan.NoVerdict || !strings.Contains(err.Error(), "cut it off") {
			t.Errorf("%q: %+v, %v", text, v, err)
		}
	}
}

func TestOneVerdict(t *testing.T) {
	t.Parallel()
	both := func(why string) reading { return reading{why, why} }
	two, top, broken := both("two verdicts"), both("top level"), both("not valid")
	for name, tt := range map[string]struct {
		text string
		want reading
	}{
		"a DONE quoted behind":       {needs + "\nIt is not yet " + done + ".", two},
		"a DONE quoted in code":      {needs + "\nNot `" + done + "`, sadly.", two},
		"a DONE quoted before":       {"Not " + done + " yet.\n" + needs, two},
		"BLOCKED before":             {`{"verdict":"BLOCKED"}` + "\n" + done, two},
		"a key in numbers":           {`{"\u0076erdict":"NEEDS_FIX"}` + "\n" + done, two},
		"a key in numbers, inside":   {`{"verdict":"DONE","\u0076erdict":"NEEDS_FIX"}`, both("twice")},
		"a key in numbers, nested":   {done + "\n" + `{"a":{"\u0076erdict":"NEEDS_FIX"}}`, top},
		"a key in numbers, broken":   {done + "\n" + `{"\u0076erdict":"NEEDS_FIX",}`, broken},
		"a key in capitals":          {done + "\n" + `{"Verdict":"NEEDS_FIX"}`, both("must be written")},
		"a key with a blank":         {done + "\n" + `{"verdict ":"NEEDS_FIX"}`, both("must be written")},
		"a key with a blank, inside": {`{"verdict":"DONE","missing ":["a"]}`, both("must be written")},
		"single quotes before":       {`{'verdict': 'NEEDS_FIX'}` + "\n" + done, broken},
		"curly quotes before":        {`{“verdict”: “NEEDS_FIX”}` + "\n" + done, broken},
		"in a list before":           {`[{"verdict":"NEEDS_FIX"}]` + "\n" + done, top},
		"not closed before":          {`{"verdict":"NEEDS_FIX","missing":["a"` + "\n" + done, both("not closed")},
		"no quotes, not closed":      {`{verdict: NEEDS_FIX` + "\n" + done, both("not closed")},
		"gaps differ":                {doneAnd(`"missing":["a"]`) + "\n" + done, both("differ")},
		"checklists differ":          {doneAnd(`"checklist":["a"]`) + "\n" + doneAnd(`"checklist":["b"]`), both("differ")},
		"gaps in a second object":    {`{"missing":["no tests"]}` + "\n" + done, both("another object")},
		"a verdict in prose":         {"**Verdict:** NEEDS_FIX\n" + done, both("another verdict")},
		"a verdict in a sentence":    {"My verdict is NEEDS_FIX.\n" + done, both("another verdict")},
		"a verdict on a line":        {"NEEDS_FIX\n\n" + done, both("another verdict")},
		"two that agree":             {done + "\n```json\n" + done + "\n```", isDone},
		"agree but for the rest":     {done + "\n" + doneAnd(`"commands":["go test"]`), isDone},
		"an earlier verdict":         {"Earlier verdict: NEEDS_FIX (G1), closed now.\n" + done, isDone},
		"DONE in prose as well":      {"Verdict: DONE\n\n" + done, isDone},
		"a gap that was open":        {"The NEEDS_FIX of the last review named G1; it is closed.\n" + done, isDone},
		"an object of the program":   {"It prints {\"errors\":[\"x\"]} for x.\n" + done, isDone},
		"empty gaps of its own":      {"It prints {\"missing\":[]} now.\n" + done, isDone},
		"in a string":                {said(`{\"verdict\":\"NEEDS_FIX\"} is read`), isDone},
		"a key in numbers alone":     {`{"\u0076erdict":"DONE"}`, isDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.check(t, tt.text)
		})
	}
}

func TestWhatStandsBesideADone(t *testing.T) {
	t.Parallel()
	asked := reading{"text follows", "DONE"}
	never := reading{"under", "under"}
	once := reading{"under", "DONE"}
	for name, tt := range map[string]struct {
		text string
		want reading
	}{
		"prose behind":           {done + "\nHowever, the empty input still panics.", asked},
		"a mark behind":          {done + " ❌", asked},
		"a sentence behind":      {"```json\n" + done + "\n```\nThat is all.", asked},
		"a word at the fence":    {"```json\n" + done + "\n```however not the docs", asked},
		"a closing tag":          {"<answer>" + done + "</answer>", asked},
		"prose behind the last":  {done + "\n" + done + "\nBut no tests.", reading{"text follows", "text follows"}},
		"a list behind":          {done + "\n" + `{"gaps":["no tests"]}`, reading{"text follows", "another object"}},
		"gaps":                   {doneAnd(`"gaps":["no tests"]`), never},
		"issues":                 {doneAnd(`"issues":[{"text":"panics"}]`), never},
		"problems, one object":   {doneAnd(`"problems":{"a":"panics"}`), never},
		"a list of lists":        {doneAnd(`"todo":[[],["x"]]`), never},
		"a summary that is one":  {doneAnd(`"summary":["a panics"]`), never},
		"a nested verdict":       {doneAnd(`"final":{"verdict":"NEEDS_FIX"}`), never},
		"a list in an item":      {doneAnd(`"checklist":[{"item":"a","met":true,"gaps":["x"]}]`), never},
		"a list in a command":    {doneAnd(`"commands":[{"command":"a","failures":["TestA"]}]`), never},
		"words":                  {doneAnd(`"gap":"empty input panics"`), once},
		"false":                  {doneAnd(`"tests_pass":false`), once},
		"a number":               {doneAnd(`"failures":2`), once},
		"prose before":           {"I ran it all, and it holds.\n" + done, isDone},
		"fences and quotes":      {"> ```json\n> " + done + "\n> ```\n", isDone},
		"no gaps":                {doneAnd(`"gaps":[]`), isDone},
		"no gap in words":        {doneAnd(`"gaps":["none"],"issues":"No issues."`), isDone},
		"empty objects":          {doneAnd(`"issues":{"must":[],"should":[]},"problems":null`), isDone},
		"zero":                   {doneAnd(`"failures":0`), isDone},
		"a summary":              {doneAnd(`"summary":"Adds the flag.","confidence":"high","score":9.5`), isDone},
		"a reason":               {doneAnd(`"reason":"all tests pass","comment":"nice"`), isDone},
		"more in an item":        {doneAnd(`"checklist":[{"id":1,"item":"a","met":true,"note":"see a.go"}]`), isDone},
		"more in a command":      {doneAnd(`"commands":[{"command":"a","exit_code":0,"output":"ok"}]`), isDone},
		"notes":                  {doneAnd(`"notes":["the parser could be faster"]`), isDone},
		"prose behind NEEDS_FIX": {needs + "\nThe rest is fine.", reading{"NEEDS_FIX", "NEEDS_FIX"}},
		"a list by a NEEDS_FIX":  {`{"verdict":"NEEDS_FIX","gaps":["a"]}`, reading{"NEEDS_FIX", "NEEDS_FIX"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.check(t, tt.text)
		})
	}
}

func TestRequirementsThatAreNotMet(t *testing.T) {
	t.Parallel()
	item := func(rest string) string { return doneAnd(`"checklist":[{"item":"a"},{"item":"b",` + rest + `}]`) }
	bad := func(rest string) string { return strings.Replace(item(rest), `"a"`, `"a","met":true`, 1) }
	words := func(entry string) string { return doneAnd(`"checklist":["builds","` + entry + `"]`) }
	fix := reading{"not met", "NEEDS_FIX"}
	needsFix := reading{"NEEDS_FIX", "NEEDS_FIX"}
	unsaid := reading{"does not say whether", "does not say whether"}
	for name, tt := range map[string]struct {
		text string
		want reading
	}{
		"false":            {bad(`"met":false`), fix},
		"absent":           {bad(`"evidence":"x"`), unsaid},
		"a string":         {bad(`"met":"true"`), unsaid},
		"partially":        {bad(`"met":"partially"`), unsaid},
		"null":             {bad(`"met":null`), unsaid},
		"a number":         {bad(`"met":1`), unsaid},
		"in another key":   {bad(`"status":"met"`), unsaid},
		"met, and not":     {said("CSV export: NOT done"), reading{"and that it is not", "NEEDS_FIX"}},
		"met, and fails":   {said("CSV export: fails"), reading{"and that it is not", "DONE"}},
		"met, it is not":   {said("the README is not"), reading{"and that it is not", "NEEDS_FIX"}},
		"met, half":        {said("the code is done and the docs are not"), reading{"and that it is not", "NEEDS_FIX"}},
		"met, not of one":  {said("the flag: it is not"), reading{"and that it is not", "NEEDS_FIX"}},
		"met, open":        {said("unknown whether it was tested or not"), reading{"and that it is not", "NEEDS_FIX"}},
		"met, by evidence": {bad(`"met":true,"evidence":"not tested"`), reading{"and that it is not", "DONE"}},
		"met, by nothing":  {bad(`"met":true,"evidence":"none"`), reading{`("evidence": "none")`, "DONE"}},
		"met, unproven":    {bad(`"met":true,"evidence":"tests: not run"`), reading{"and that it is not", "DONE"}},
		"met, by a status": {bad(`"met":true,"status":"failed"`), reading{"and that it is not", "DONE"}},
		"met, by a word":   {bad(`"met":true,"result":"NEEDS_FIX"`), reading{"and that it is not", "DONE"}},

		"NOT done":       {words("CSV export: NOT done"), fix},
		"not met":        {words("CSV export - not met"), fix},
		"another is not": {words("the code is there, the docs are not"), fix},
		"not yet":        {words("CSV export: not yet"), fix},
		"isn't":          {words("the flag isn't implemented in the parser"), fix},
		"curly isn’t":    {words("the flag isn’t tested"), fix},
		"not been":       {words("The docs have not yet been completed"), fix},
		"bold":           {words("CSV export is **not** implemented"), fix},
		"not verified":   {words("Could not verify the CSV export"), fix},
		"cannot":         {words("empty input cannot be tested here"), fix},
		"never":          {words("the tests were never run"), fix},
		"partially done": {words("CSV export: partially done"), fix},
		"almost":         {words("CSV export is almost complete"), fix},
		"remains":        {words("CSV export remains to be done"), fix},
		"fails":          {words("go test: fails"), fix},
		"FAIL in front":  {words("FAIL: go test"), fix},
		"TODO in front":  {words("TODO - docs"), fix},
		"missing":        {words("docs (missing)"), fix},
		"is missing":     {words("the header is missing"), fix},
		"untested":       {words("empty input: untested"), fix},
		"no":             {words("tests: no"), fix},
		"incomplete":     {words("CSV export: incomplete."), fix},
		"pending":        {words("docs pending"), fix},
		"open box":       {words("[ ] CSV export"), fix},
		"cross":          {words("❌ CSV export"), fix},
		"cross behind":   {words("CSV export ❌"), fix},
		"none":           {words("tests: none"), fix},
		"of itself":      {words("I did not get to the CSV export"), fix},
		"later":          {words("CSV export: will be done later"), fix},
		"left out":       {words("tests pass. CSV export was left out."), fix},
		"one string":     {doneAnd(`"checklist":"- builds\n- CSV export: NOT done"`), fix},
		"a NEEDS_FIX":    {`{"verdict":"NEEDS_FIX","checklist":["a: not done",{"item":"b","met":"no"}]}`, needsFix},
		"met":            {bad(`"met":true,"evidence":"go test -run TestB fails on HEAD~ and passes here"`), isDone},
		"met, a value":   {bad(`"met":true,"evidence":"b3: [] None"`), isDone},
		"met, returns":   {bad(`"met":true,"evidence":"returns False"`), isDone},
		"met, code":      {said("the default of the option: `false`"), isDone},
		"met, a message": {said("an empty list prints `not found: none`"), isDone},
		"met, denying":   {said("does not crash on empty input"), isDone},
		"met, not":       {said("the input is not modified"), isDone},
		"met, another":   {said("a number is taken as an argument, an option is not"), isDone},
		"met, others":    {said("blanks around the page are stripped; those in a label are not."), isDone},
		"met, does not":  {said("a label may hold a pipe and a page may not"), isDone},
		"met, code not":  {said("`-1` becomes an argument but `-x` does not"), isDone},
		"met, of a case": {said("the value stays, also where the option isn't"), isDone},
		"met, or not":    {said("one result whether the name is quoted or not"), isDone},
		"met, no":        {doneAnd(`"checklist":[{"item":"No regressions","met":true,"evidence":"go test ./..."}]`), isDone},
		"met, skipped":   {said("blank lines are skipped"), isDone},
		"met, failed":    {said("retries when a request failed"), isDone},
		"when missing":   {words("returns an error when the key is missing"), isDone},
		"none failed":    {words("All tests pass (12 passed, 0 failed)"), isDone},
		"none regressed": {words("Regressions: none"), isDone},
		"no tests fail":  {words("go test ./... passes; no tests fail"), isDone},
		"ok":             {doneAnd(`"checklist":"ok"`), isDone},
		"does not crash": {words("empty input does not crash"), isDone},
		"no panic":       {words("empty input: no panic"), isDone},
		"no regression":  {words("No regression: go test ./... passes"), isDone},
		"an error":       {words("a missing file is reported with exit 2"), isDone},
		"fails before":   {words("TestNew fails on HEAD~ and passes here"), isDone},
		"not modified":   {words("the input is not modified"), isDone},
		"closed box":     {words("[x] builds"), isDone},
		"check behind":   {words("CSV export ✅"), isDone},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.check(t, tt.text)
		})
	}
}

// TestProseBecomesANote: what stands around the object of a second answer was
// asked about, so it is kept and does not stand in the way.
func TestProseBecomesANote(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 600)
	v, err := second("So:\n```json\n" + doneAnd(`"notes":["a"],"mood":"good"`) + "\n```\n" + long)
	if err != nil || len(v.Notes) != 4 {
		t.Fatalf("%+v, %v", v, err)
	}
	if diff := cmp.Diff([]string{"a", `mood: "good"`, "So:"}, v.Notes[:3]); diff != "" {
		t.Error(diff)
	}
	if last := v.Notes[3]; len(last) > 510 || !strings.HasSuffix(last, "é…") {
		t.Errorf("%d bytes", len(last))
	}
	if v, err := second("So:\n" + needs + "\nDo it."); err != nil || len(v.Notes) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}
