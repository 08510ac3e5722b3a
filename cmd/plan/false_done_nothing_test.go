package main

import "github.com/plan-engine/plan"

// falseNothing are runs in which nothing was done, or against whose DONE speaks
// what the engine itself has found out.
func falseNothing() []falseDone {
	idle := func(says string, ran ...string) story {
		return story{round: round{build: []string{"true"}, ran: ran, says: []string{says}}}
	}
	fails := func(verify, build, says string, ran ...string) story {
		return story{verify: verify, round: round{build: []string{build}, ran: ran, says: []string{says}}}
	}
	mended := story{round: round{build: []string{works}}}
	proven := story{round: round{build: []string{works}, ran: []string{theTest}, says: []string{done(theTest)}}}
	greets := with(greetFiles(), map[string]string{"greet.sh": "echo hello\n"})
	noChange := verdict(
		plan.Verdict{
			Verdict:  plan.Done,
			Commands: []plan.RanCommand{ranAs(0, theTest)},
			NoChange: "greet.sh says hello already, and its test passes.",
		},
	)
	refactored := verdict(
		plan.Verdict{
			Verdict:   plan.Done,
			Commands:  []plan.RanCommand{ranAs(0, theTest)},
			Unchanged: "It only gives the greeting a name; it says the same.",
		},
	)
	return []falseDone{
		{
			name: "ls",
			lie:  fails(theTest, "true", done("ls"), "ls"),
			told: "The check `sh greet_test.sh` fails",
			twin: story{round: round{build: []string{works}, ran: []string{theTest}, says: []string{done(theTest)}}},
		},
		{
			name: "claimed against the check",
			lie:  fails(theTest, breaks, done(theTest)),
			told: "one of the workflow's own checks",
			twin: mended,
		},
		{
			name: "claimed with other blanks",
			lie:  fails(theTest, breaks, done("sh   greet_test.sh")),
			told: "one of the workflow's own checks",
			twin: mended,
		},
		{
			name: "claimed against a required check",
			lie: story{
				flags: []string{"--check", theTest},
				round: round{build: []string{breaks}, says: []string{done(theTest)}},
			},
			told: "is required and fails",
			twin: mended,
		},
		{
			name: "a check that failed and fails",
			lie:  fails(theTest, breaks, done("ls"), "ls"),
			told: "The checklist does not say why",
			twin: story{round: round{build: []string{works}, says: []string{done()}}},
		},
		{
			name: "a check that fails, and prose",
			lie: fails(
				theTest,
				breaks,
				`{"verdict": "DONE", "checklist": ["sh greet_test.sh fails as before"], "commands": ["ls"]}`,
				"ls",
			),
			told: "The checklist does not say why",
			twin: mended,
		},
		{
			name: "a check that passed and fails",
			lie:  fails("sh other_test.sh", works+"; echo false >other_test.sh", done(theTest), theTest),
			told: "passed before the change and fails now",
			twin: story{round: round{build: []string{works}}},
		},
		{name: "a check that cannot fail", lie: fails("echo fine", breaks, done()), told: alike, twin: proven},
		{name: "nothing done, and a claim", lie: idle(done(theTest), theTest), told: otherwise, twin: proven},
		{
			name:     "nothing done, and nothing said",
			lie:      idle(done("ls"), "ls"),
			told:     "no file was changed",
			twin:     story{files: greets, round: round{ran: []string{theTest}, says: []string{noChange}}},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name:     "nothing done, and a claim that is false",
			lie:      idle(noChange, "ls"),
			told:     otherwise,
			twin:     story{files: greets},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name:     "nothing done, and nothing that ran",
			lie:      idle(`{"verdict": "DONE", "no_change": "it is right as it is"}`, theTest),
			told:     unshown,
			twin:     story{files: greets, round: round{says: []string{noChange}}},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name:     "nothing done, and unchanged",
			lie:      idle(`{"verdict": "DONE", "commands": ["ls"], "unchanged": "a matter of style"}`, "ls"),
			told:     "no file was changed",
			twin:     story{files: greets, round: round{build: []string{"true"}, says: []string{noChange}}},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name: "unchanged, and a claim that is false",
			lie: story{
				round: round{
					build: []string{"echo '# a greeting' >>greet.sh"},
					ran:   []string{theTest},
					says:  []string{refactored},
				},
			},
			told:     otherwise,
			twin:     story{files: greets, round: round{build: []string{"printf 'said=hello\\necho $said\\n' >greet.sh"}}},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name: "unchanged, and nothing that ran",
			lie: story{
				round: round{build: []string{breaks}, says: []string{`{"verdict": "DONE", "unchanged": "a refactoring"}`}},
			},
			told: unshown,
			twin: story{
				files: greets,
				round: round{build: []string{"printf 'said=hello\\necho $said\\n' >greet.sh"}, says: []string{refactored}},
			},
			evidence: plan.EvidenceUnbroken,
		},
		{
			name: "unchanged where the settings insist",
			lie: story{
				config: "[checks]\nevidence = \"shown\"\n",
				round: round{
					build: []string{breaks},
					says:  []string{`{"verdict": "DONE", "commands": ["sh other_test.sh"], "unchanged": "a refactoring"}`},
				},
			},
			told: "the settings insist",
			twin: proven,
		},
		{
			name: "a note and nothing else",
			lie: story{
				round: round{
					build: []string{"echo later >>notes.md"},
					ran:   []string{"grep -q notes notes.md"},
					says:  []string{done("grep -q notes notes.md")},
				},
			},
			told: alike,
			twin: story{
				round: round{
					build: []string{"echo later >>notes.md; " + works},
					ran:   []string{theTest},
					says:  []string{done(theTest)},
				},
			},
		},
		{
			name: "go test fails before and after",
			lie: story{
				files: goFiles(),
				round: round{build: []string{"true"}, ran: []string{"ls"}, says: []string{done("go test ./...")}},
			},
			told: "one of the workflow's own checks",
			twin: story{round: round{build: []string{goWorks}}},
		},
		{
			name: "npm test fails before and after",
			lie: story{
				files: nodeFiles(),
				round: round{build: []string{nodeBreaks}, ran: []string{"ls"}, says: []string{done("ls")}},
			},
			told: "The checklist does not say why",
			twin: story{round: round{build: []string{nodeWorks}, says: []string{done("npm test")}}},
		},
	}
}
