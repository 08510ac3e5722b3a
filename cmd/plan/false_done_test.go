package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// doneCase is a whole run whose reviewer says DONE. The false one must not be
// approved; the honest one, which differs in the evidence alone, must.
type doneCase struct {
	name   string
	flags  string
	verify string // the plan's commands

	build  []string // the implementer's commands; what works when empty
	ran    []string // the reviewer's commands
	says   string   // the verdict
	told   string   // in the journal of the false run
	honest doneHonest
}

// doneHonest is what the honest run does instead; an empty part stays.
type doneHonest struct {
	build, ran []string
	says       string
	flags      string
}

const (
	works   = "sed -i s/hi/hello/ greet.sh"
	breaks  = "sed -i s/hi/hullo/ greet.sh"
	theTest = "sh greet_test.sh"
)

// done is a DONE that claims these commands to have exited with 0.
func done(commands ...string) string {
	var list []string
	for _, c := range commands {
		list = append(list, fmt.Sprintf(`{"command": %q, "exit_code": 0}`, c))
	}
	return `{"verdict": "DONE", "checklist": [], "missing": [], "commands": [` + strings.Join(list, ", ") + `]}`
}

func falseDones() []doneCase {
	proven := doneHonest{ran: []string{theTest}, says: done(theTest)}
	spoken := `{"verdict": "DONE", "checklist": [{"item": "%s was rightly changed", "met": true, "evidence": "sh greet.sh"}], "missing": [], "commands": []}`
	runs := "sh greet.sh | grep -q hello"
	return []doneCase{
		{name: "never run", says: done(theTest), told: "did not run in this review", honest: proven},
		{name: "run before the last edit", build: []string{works, theTest, breaks}, says: done(theTest), told: "did not run in this review", honest: doneHonest{build: []string{works, theTest}, ran: []string{theTest}}},
		{name: "masked by a pipe", ran: []string{theTest + " | tail -1"}, says: done(theTest), told: "the pipe into `tail` may hide", honest: proven},
		{name: "masked and claimed as it ran", build: []string{breaks}, ran: []string{theTest + " | tail -1 || true"}, says: done(theTest + " | tail -1 || true"), told: "hides its exit code", honest: doneHonest{build: []string{works}, ran: []string{theTest}, says: done(theTest)}},
		{name: "masked by or", build: []string{breaks}, ran: []string{theTest + " || true"}, says: done(theTest), told: "hides its exit code", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
		{name: "masked by an echo", build: []string{breaks}, ran: []string{theTest + "; echo status $?"}, says: done(theTest), told: "passes whatever the work is", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
		{name: "masked in the background", build: []string{breaks}, ran: []string{theTest + " &"}, says: done(theTest), told: "in the background", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
		{name: "wrong exit code", build: []string{breaks}, ran: []string{theTest}, says: done(theTest), told: "its last run in this review exited with 1", honest: doneHonest{build: []string{works}}},
		{name: "passed once and failed later", ran: []string{theTest, "sed -i s/hello/x/ greet.sh && " + theTest, theTest}, says: done(theTest), told: "exited with 1", honest: proven},
		{name: "an unrelated command", build: []string{breaks}, ran: []string{"git status", "go version"}, says: done("git status", "go version"), told: "passes whatever the work is", honest: doneHonest{build: []string{works}, ran: []string{theTest}, says: done(theTest)}},
		{name: "another test", ran: []string{"sh other_test.sh"}, says: done(theTest), told: "did not run in this review", honest: proven},
		{name: "a filter that leaves no test", build: []string{breaks}, ran: []string{"cd calc && go test -run None"}, says: done("go test -run None"), told: "no test ran in it", honest: doneHonest{build: []string{works}, ran: []string{"cd calc && go test"}, says: done("go test")}},
		{name: "tests deleted", build: []string{breaks, "rm greet_test.sh"}, ran: []string{"sh greet.sh"}, says: done("sh greet.sh"), told: "greet_test.sh, a test file, was deleted", honest: doneHonest{build: []string{works}, ran: []string{theTest}, says: done(theTest)}},
		{name: "tests deleted, and spoken of", build: []string{works, "rm greet_test.sh"}, ran: []string{runs}, says: done(runs), told: "The checklist does not say why", honest: doneHonest{says: fmt.Sprintf(spoken, "greet_test.sh")}},
		{name: "tests skipped", build: []string{works, `sed -i 's/^{$/{ t.Skip("later")/' go_test.go`}, ran: []string{runs}, says: done(runs), told: "go_test.go keeps tests from running", honest: doneHonest{build: []string{works}}},
		{name: "check script edited", flags: "--check 'sh check.sh'", build: []string{breaks, "echo exit 0 > check.sh"}, says: done(), told: "a script that a check runs", honest: doneHonest{build: []string{works}}},
		{name: "makefile edited", flags: "--check 'make -s test'", build: []string{breaks, `printf 'test:\n\ttrue\n' > Makefile`}, says: done(), told: "how the project is tested", honest: doneHonest{build: []string{works}}},
		{name: "missing items", ran: []string{theTest}, says: `{"verdict": "DONE", "missing": [{"gap": "no word on names", "severity": "must"}], "commands": []}`, told: "no word on names", honest: proven},
		{name: "an unmet requirement", ran: []string{theTest}, says: `{"verdict": "DONE", "checklist": [{"item": "greets by name", "met": false, "evidence": ""}], "missing": []}`, told: "A requirement is not met: greets by name", honest: proven},
		{name: "evidence in prose", says: `{"verdict": "DONE", "checklist": [{"item": "greets", "met": true, "evidence": "I ran all the tests and they pass"}], "missing": [], "commands": []}`, told: "no command and no check ran", honest: doneHonest{ran: []string{theTest}}},
		{name: "echo PASS", build: []string{breaks}, ran: []string{"echo PASS"}, says: done("echo PASS"), told: "passes whatever the work is", honest: doneHonest{build: []string{works}, ran: []string{theTest}, says: done(theTest)}},
		{name: "echo PASS, and nothing claimed", build: []string{breaks}, ran: []string{"echo PASS"}, says: done(), told: "nothing that ran shows it", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
		{name: "a check that cannot fail", verify: "echo fine", build: []string{breaks}, says: done(), told: "nothing that ran shows it", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
		{name: "a check that failed before and fails now", verify: theTest, build: []string{breaks}, says: done(), told: "nothing that ran shows it", honest: doneHonest{build: []string{works}}},
		{name: "a required check fails", flags: "--check 'sh greet_test.sh'", build: []string{breaks}, says: done(), told: "is required and fails", honest: doneHonest{build: []string{works}}},
		{name: "a required check is flaky", flags: "--sandbox off --check 'test -e $WORK/on && rm $WORK/on || { touch $WORK/on; false; }'", ran: []string{theTest}, says: done(theTest), told: "passes only sometimes", honest: doneHonest{flags: "--check 'sh greet_test.sh'"}},
		{name: "the command means something else", build: []string{breaks}, ran: []string{"sh() { true; }; " + theTest}, says: done(theTest), told: "changes what its commands mean", honest: doneHonest{build: []string{works}, ran: []string{theTest}}},
	}
}

// script writes the run as a script. The reviewer answers the same when it is
// asked again.
func (c doneCase) script(approved bool) string {
	build, ran, says, flags := c.build, c.ran, c.says, c.flags
	want := `exits 3 plan -C repo run --json --max-review-cycles 0 ` + flags + " 'greet with hello'\nstdout '\"outcome\":\"exhausted\"'\n"
	if approved {
		h := c.honest
		build, ran = orThese(h.build, build), orThese(h.ran, ran)
		if h.says != "" {
			says = h.says
		}
		if h.flags != "" {
			flags = h.flags
		}
		want = "exec plan -C repo run --json --max-review-cycles 0 " + flags + " 'greet with hello'\nstdout '\"outcome\":\"approved\"'\n"
	} else {
		want += "balanced stdout\njournal j\ngrep -count=1 '\"type\":\"verdict\".*\"approved\":false' j\nexec grep -qF " + "'" + c.told + "' j\n"
	}
	build = orThese(build, []string{works})
	var b strings.Builder
	b.WriteString("serve model.toml\nrm repo\nmkdir repo\ncp greet.sh greet_test.sh other_test.sh check.sh go_test.go repo\nmkdir repo/calc\ncp sub.mod repo/calc/go.mod\ncp sub_test.go repo/calc/sub_test.go\n" +
		map[bool]string{true: "cp makefile.txt repo/Makefile\n"}[strings.Contains(flags, "make")] + "repo repo\n" + want + "-- model.toml --\n")
	verify := ""
	if c.verify != "" {
		verify = "\n## Verify\n~~~\n" + c.verify + "\n~~~\n"
	}
	fmt.Fprintf(&b, "[[reply]]\nphase = \"explore\"\ntext = \"It is greet.sh.\"\n[[reply]]\nphase = \"plan\"\ntext = '''\n# Plan\n## Files\n- greet.sh\n%s'''\n", verify)
	reply(&b, "implement", build, "Done.")
	reply(&b, "review", ran, says)
	b.WriteString("-- greet.sh --\necho hi\n-- greet_test.sh --\ntest \"$(sh greet.sh)\" = hello\n-- other_test.sh --\ntrue\n-- check.sh --\nsh greet_test.sh\n" +
		"-- go_test.go --\npackage greet\n\nfunc TestGreet(t *testing.T)\n{\n}\n-- sub.mod --\nmodule calc\n-- sub_test.go --\npackage calc\n\nimport (\n\t\"os/exec\"\n\t\"testing\"\n)\n\nfunc TestGreet(t *testing.T) {\n\tif out, _ := exec.Command(\"sh\", \"../greet.sh\").Output(); string(out) != \"hello\\n\" {\n\t\tt.Fatalf(\"%s\", out)\n\t}\n}\n-- makefile.txt --\ntest:\n\tsh greet_test.sh\n")
	return b.String()
}

func orThese(a, b []string) []string {
	if len(a) > 0 {
		return a
	}
	return b
}

// reply scripts a phase that runs commands, one a turn, and then says a text,
// also when it is asked again.
func reply(b *strings.Builder, phase string, commands []string, text string) {
	for i, c := range commands {
		fmt.Fprintf(b, "[[reply]]\nphase = %q\nuser = 1\nturn = %d\n[[reply.call]]\nname = \"bash\"\nargs = { command = '''%s''' }\n", phase, i, c)
	}
	fmt.Fprintf(b, "[[reply]]\nphase = %q\ntext = '''%s'''\n", phase, text)
}

// TestFalseDones: none approves, and each would if its evidence were real.
func TestFalseDones(t *testing.T) {
	t.Parallel()
	dir, cases := t.TempDir(), falseDones()
	for _, c := range cases {
		for name, approved := range map[string]bool{"false": false, "honest": true} {
			file := filepath.Join(dir, strings.NewReplacer(" ", "_", ",", "").Replace(c.name)+"_"+name+".txt")
			if err := os.WriteFile(file, []byte(c.script(approved)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Logf("false DONEs: %d, each beside its honest twin", len(cases))
	testscript.Run(t, scripts(dir))
}
