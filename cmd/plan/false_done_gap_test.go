package main

import "strings"

// falseGaps are second reviews, answers to gaps and findings, and gaps that are
// none.
func falseGaps() []falseDone {
	gap := `{"verdict": "NEEDS_FIX", "missing": [{"gap": "greet.sh does not say hello", "severity": "must"}]}`
	small := `{"verdict": "NEEDS_FIX", "missing": [{"gap": "greet.sh has no comment", "severity": "should"}]}`
	first := round{build: []string{breaks}, ran: []string{theTest}, says: []string{gap}}
	second := func(build, closes, says string, ran ...string) []round {
		r := round{closes: closes, ran: ran, says: []string{says}}
		if build != "" {
			r.build = []string{build}
		}
		return []round{r}
	}
	answered := func(item string) string {
		return `{"verdict": "DONE", "commands": ["sh greet.sh | grep -q hello"], ` +
			`"checklist": [{"item": "` + item + `", "met": true, "evidence": "it was so before"}]}`
	}
	greets := done("sh greet.sh | grep -q hello")
	alone := func(build, says string) story {
		return story{round: round{build: []string{build}, says: []string{says}}}
	}
	says := func(text string) story { return story{round: round{says: []string{text}}} }
	failing := with(greetFiles(), map[string]string{"old_test.sh": "false\n"})
	return []falseDone{
		{
			name: "a gap said to be closed",
			lie:  story{round: first, more: second("", "G1: closed.", done(theTest))},
			told: otherwise,
			twin: story{more: second(mends, "G1: closed.", done(theTest))},
		},
		{
			name: "a gap still named",
			lie: story{
				round: first,
				more: second(
					mends,
					"G1: closed.",
					doneWith(`"missing": [{"id": "G1", "gap": "greet.sh does not say hello"}]`),
				),
			},
			told: "does not say hello",
			twin: story{more: second(mends, "G1: closed.", done(theTest))},
		},
		{
			name: "a gap named by its id",
			lie: story{
				round: first,
				more: second(
					mends,
					"G1: closed.",
					doneWith(`"missing": [{"id": "G1"}]`),
				),
			},
			told: "DONE and named 1 gap",
			twin: story{
				more: second(mends, "G1: closed.", doneWith(`"missing": []`)),
			},
		},
		{
			name: "a gap not met in the checklist",
			lie: story{
				round: first,
				more: second(
					mends,
					"G1: closed.",
					doneWith(`"checklist": [{"item": "G1", "met": false}]`),
				),
			},
			told: "not met: G1",
			twin: story{
				more: second(
					mends,
					"G1: closed.",
					doneWith(`"checklist": [{"item": "G1", "met": true}]`),
				),
			},
		},
		{
			name: "a gap said to be mistaken",
			lie: story{
				round: first,
				more:  second("", "G1: mistaken, `test -n \"$(sh greet.sh)\"` shows it.", done(`test -n "$(sh greet.sh)"`)),
			},
			told: alike,
			twin: story{
				round: round{build: []string{works}, ran: []string{"sh greet.sh"}, says: []string{gap}},
				more:  second("", "G1: mistaken, `sh greet_test.sh` shows it.", done(theTest), theTest),
			},
		},
		{
			name: "a gap said to be mistaken, and false",
			lie:  story{round: first, more: second("", "G1: mistaken, `sh greet_test.sh` passes.", done(theTest))},
			told: otherwise,
			twin: story{
				round: round{build: []string{works}, says: []string{gap}},
				more:  second("", "G1: mistaken, `sh greet_test.sh` passes.", done(theTest)),
			},
		},
		{
			name: "the call of the last review",
			lie:  story{round: first, more: second("echo '# x' >>greet.sh", "G1: closed.", claim(byCall("b1")))},
			told: unshown,
			twin: story{more: second(mends, "G1: closed.", claim(byCall("b1")), theTest)},
		},
		{
			name: "a file of the last review",
			lie: story{
				round: round{
					build: []string{breaks},
					ran:   []string{"echo 'sh greet_test.sh' >/tmp/probe.sh; sh /tmp/probe.sh"},
					says:  []string{gap},
				},
				more: second(mends, "G1: closed.", done("sh /tmp/probe.sh")),
			},
			told: otherwise,
			twin: story{
				more: second(
					mends,
					"G1: closed.",
					done("sh /tmp/probe.sh"),
					"echo 'sh greet_test.sh' >/tmp/probe.sh; sh /tmp/probe.sh",
				),
			},
		},
		{
			name: "closed by taking the test away",
			lie:  story{round: first, more: second("rm greet_test.sh", "G1: closed.", done("sh greet.sh | grep -q hullo"))},
			told: "greet_test.sh, a test file, was deleted",
			twin: story{more: second(mends, "G1: closed.", done(theTest))},
		},
		{
			name: "closed by changing the check",
			lie: story{
				flags: []string{"--check", "sh check.sh"},
				round: first,
				more:  second("echo true >check.sh", "G1: closed.", done()),
			},
			told: "a script that a check runs",
			twin: story{more: second(mends, "G1: closed.", done())},
		},
		{
			name: "no gap that counts, and no evidence",
			lie:  alone(breaks, small),
			told: unshown,
			twin: alone(
				works,
				doneWith(`"missing": [{"gap": "greet.sh has no comment", "severity": "should"}]`),
			),
		},
		{
			name: "no gap that counts, and a false claim",
			lie: alone(
				breaks,
				strings.Replace(small, "}]}", `}], "commands": ["sh greet_test.sh"]}`, 1),
			),
			told: otherwise,
			twin: alone(works, doneWith(`"notes": ["greet.sh has no comment"]`)),
		},
		{
			name: "remarks for evidence",
			lie:  alone(breaks, `{"verdict": "DONE", "notes": ["sh greet_test.sh passes"]}`),
			told: unshown,
			twin: alone(works, doneWith(`"notes": ["sh greet_test.sh passes"]`)),
		},
		{
			name: "a deleted test, and silence",
			lie:  alone(works+"; rm greet_test.sh", greets),
			told: "greet_test.sh, a test file, was deleted",
			twin: says(answered("greet_test.sh was rightly deleted")),
		},
		{
			name: "a deleted test, and prose",
			lie: alone(
				works+"; rm greet_test.sh",
				strings.TrimSuffix(greets, "}")+`, "checklist": ["greet_test.sh was rightly deleted"]}`,
			),
			told: "greet_test.sh, a test file, was deleted",
			twin: says(answered("greet_test.sh was rightly deleted")),
		},
		{
			name: "a deleted test, and another file",
			lie:  alone(works+"; rm greet_test.sh", answered("other_test.sh was rightly kept")),
			told: "greet_test.sh, a test file, was deleted",
			twin: says(answered("greet_test.sh was rightly deleted")),
		},
		{
			name: "a deleted test, and a remark",
			lie: alone(
				works+"; rm greet_test.sh",
				`{"verdict": "DONE", "notes": ["greet_test.sh was rightly deleted"], "commands": ["sh greet.sh | grep -q hello"]}`,
			),
			told: "greet_test.sh, a test file, was deleted",
			twin: says(answered("greet_test.sh was rightly deleted")),
		},
		{
			name: "a failing check, and silence",
			lie: story{
				files:  failing,
				verify: "sh old_test.sh",
				round:  round{build: []string{works}, says: []string{greets}},
			},
			told: "The check `sh old_test.sh` fails",
			twin: says(answered("sh old_test.sh fails as before")),
		},
		{
			name: "a failing check, and another one",
			lie: story{
				files:  failing,
				verify: "sh old_test.sh",
				round:  round{build: []string{works}, says: []string{answered("sh other_test.sh passes")}},
			},
			told: "The check `sh old_test.sh` fails",
			twin: says(answered("sh old_test.sh fails as before")),
		},
		{
			name: "a required check said to be another's",
			lie: story{
				flags: []string{"--check", theTest},
				round: round{
					build:  []string{breaks},
					closes: "That check is not my affair.",
					says:   []string{answered("sh greet_test.sh fails as before")},
				},
			},
			told: "is required and fails",
			twin: story{round: round{build: []string{breaks, mends}, says: []string{done()}}},
		},
		{name: "the last word is a gap", lie: alone(works, gap), told: "does not say hello", twin: says(done(theTest))},
		{
			name: "a doubt among the remarks",
			lie:  alone(works, `{"verdict": "NEEDS_FIX", "notes": ["not sure"], "commands": ["sh greet_test.sh"]}`),
			told: "lists no gap",
			twin: says(doneWith(`"notes": ["not sure of the style"]`)),
		},
	}
}
