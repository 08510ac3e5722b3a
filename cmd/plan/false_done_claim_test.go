package main

import "github.com/plan-engine/plan"

// claim is a DONE with these claims.
func claim(commands ...plan.RanCommand) string {
	return verdict(plan.Verdict{Verdict: plan.Done, Commands: commands})
}

// ranAs is a claim that a command ended with a code.
func ranAs(code int, command string) plan.RanCommand {
	return plan.RanCommand{Command: command, ExitCode: code}
}

// byCall is a claim that names a call.
func byCall(id string) plan.RanCommand { return plan.RanCommand{Call: id} }

// falseClaims are claims that say something else than what ran.
func falseClaims() []falseDone {
	over := func(build, says string, ran []string) story {
		s := story{round: round{build: []string{build}, ran: ran}}
		if says != "" {
			s.says = []string{says}
		}
		return s
	}
	wrong := func(says string, ran ...string) story { return over(breaks, says, ran) }
	right := func(says string, ran ...string) story { return over(works, says, ran) }
	return []falseDone{
		{name: "never run, and false", lie: wrong(done(theTest)), told: otherwise, twin: right("")},
		{name: "ended otherwise", lie: wrong(done(theTest), theTest), told: otherwise, twin: right("")},
		{
			name: "claimed as it failed",
			lie:  wrong(claim(ranAs(1, theTest)), theTest),
			told: alike,
			twin: right(claim(ranAs(0, theTest))),
		},
		{
			name: "another exit code",
			lie:  wrong(claim(ranAs(2, theTest)), theTest),
			told: otherwise,
			twin: right(claim(ranAs(0, theTest))),
		},
		{
			name: "an exit code as a word",
			lie:  wrong(`{"verdict": "DONE", "commands": [{"command": "sh greet_test.sh", "exit_code": "passed"}]}`, theTest),
			told: "not a whole number",
			twin: right(`{"verdict": "DONE", "commands": [{"command": "sh greet_test.sh", "exit_code": "0"}]}`),
		},
		{
			name: "a call that is not there",
			lie:  wrong(claim(byCall("b9")), theTest),
			told: unshown,
			twin: right(claim(byCall("b1"))),
		},
		{name: "a call that ended otherwise", lie: wrong(claim(byCall("b1")), theTest), told: alike, twin: right("")},
		{
			name: "a call and another line",
			lie:  wrong(claim(plan.RanCommand{Command: "true", Call: "b1"}), "sh greet_test.sh; true"),
			told: alike,
			twin: right("", theTest),
		},
		{
			name: "a call of the author",
			lie:  wrong(claim(byCall("call_implement_1_1_0_0"))),
			told: unshown,
			twin: right(claim(byCall("call_review_1_1_0_0")), theTest),
		},
		{name: "one true and one false", lie: wrong(done("sh other_test.sh", theTest)), told: otherwise, twin: right("")},
		{
			name: "a file of another review",
			lie:  wrong(done("sh /tmp/probe.sh"), theTest),
			told: otherwise,
			twin: right("", "echo 'sh greet_test.sh' >/tmp/probe.sh; sh /tmp/probe.sh"),
		},
		{
			name: "what an earlier call left",
			lie:  wrong(done("test -s out.log"), theTest+"; echo ok >out.log"),
			told: alike, // a file that the reviewer made is there on both trees
			twin: right(done(theTest)),
		},
		{
			name: "a program that is not there",
			lie:  wrong(claim(ranAs(127, "nosuchprogram")), "nosuchprogram"),
			told: unshown,
			twin: right(claim(ranAs(0, "command -v sh && "+theTest))),
		},
		{
			name: "ended by a signal",
			lie:  wrong(claim(ranAs(137, "kill -9 $$")), "kill -9 $$"),
			told: unshown,
			twin: right(claim(ranAs(0, "kill -0 $$ && "+theTest))),
		},
		{
			name: "nine lines, the test the last",
			lie:  wrong(done("true", "true 2", "true 3", "true 4", "true 5", "true 6", "true 7", "true 8", theTest), theTest),
			told: alike,
			twin: right(done("true", "true 2", "true 3", "true 4", "true 5", "true 6", "true 7", theTest), theTest),
		},
		{
			name: "words for a command",
			lie:  wrong(done("ran all the tests, all green"), theTest),
			told: unshown,
			twin: right(done(theTest)),
		},
		{name: "nothing claimed", lie: wrong(done(), theTest), told: unshown, twin: right(done(theTest))},
		{
			name: "evidence in the checklist alone",
			lie: wrong(
				`{"verdict": "DONE", "checklist": [{"item": "greets", "met": true, "evidence": "sh greet_test.sh"}]}`,
				theTest,
			),
			told: unshown,
			twin: right(
				doneWith(`"checklist": [{"item": "greets", "met": true, "evidence": "sh greet_test.sh"}]`),
			),
		},
	}
}
