package main

// soon bounds every check, so that one that hangs does so for a short while.
const soon = "[checks]\ntimeout = \"4s\"\n"

// falseHangs are checks and lines that hang, or pass only sometimes.
func falseHangs() []falseDone {
	check := func(command, build, says string) story {
		return story{
			config: soon,
			flags:  []string{"--check", command},
			round:  round{build: []string{build}, says: []string{says}},
		}
	}
	advice := func(command, build, says string) story {
		return story{config: soon, verify: command, round: round{build: []string{build}, says: []string{says}}}
	}
	line := func(says string) story {
		return story{config: soon, round: round{build: []string{breaks}, says: []string{says}}}
	}
	mended := story{round: round{build: []string{works}}}
	proven := story{round: round{build: []string{works}, ran: []string{theTest}, says: []string{done(theTest)}}}
	sometimes := "test -e $WORK/on && rm $WORK/on || { touch $WORK/on; false; }"
	open := []string{"--sandbox", "off"}
	return []falseDone{
		{
			name: "a required check hangs now",
			lie:  check(theTest, "echo sleep 60 >>greet.sh", done()),
			told: "ran out of time",
			twin: mended,
		},
		{
			name: "a required check hangs and hung",
			lie:  check("sleep 60; "+theTest, breaks, done()),
			told: "did not come to an end before the work",
			twin: story{flags: []string{"--check", "sleep 0.1; " + theTest}, round: round{build: []string{works}}},
		},
		{
			name: "a check hangs now",
			lie:  advice("sh other_test.sh", works+"; echo sleep 60 >>other_test.sh", done(theTest)),
			told: "passed before the change and fails now",
			twin: mended,
		},
		{
			name: "a check that hung, and silence",
			lie:  advice("sleep 60; sh other_test.sh", works, done(theTest)),
			told: "The checklist does not say why",
			twin: story{verify: "sh other_test.sh", round: round{build: []string{works}}},
		},
		{
			name: "a check is killed",
			lie:  check(theTest, "echo 'kill -9 $PPID' >greet.sh", done()),
			told: "is required and fails",
			twin: mended,
		},
		{
			name: "a line hangs",
			lie:  line(done("sleep 60; true")),
			told: unshown,
			twin: story{round: round{build: []string{works}, says: []string{done("sleep 0.1; " + theTest)}}},
		},
		{
			name: "a line hangs without the work",
			lie:  line(done("sh greet.sh | grep -q hullo || sleep 60")),
			told: alike,
			twin: story{round: round{build: []string{works}, says: []string{done("sh greet.sh | grep -q hello || exit 1")}}},
		},
		{
			name: "a line is killed without the work",
			lie:  line(done("sh greet.sh | grep -q hullo || kill -9 $$")),
			told: alike,
			twin: story{
				round: round{build: []string{works}, says: []string{done("sh greet.sh | grep -q hello || kill -0 nobody")}},
			},
		},
		{
			name: "a line cannot be run without the work",
			lie:  line(done("sh greet.sh | grep -q hullo || nosuchprogram")),
			told: alike,
			twin: story{
				round: round{
					build: []string{works},
					says:  []string{done("sh greet.sh | grep -q hello || test -d nosuchprogram")},
				},
			},
		},
		{
			name: "a file is no program without the work",
			lie:  line(done("sh greet.sh | grep -q hullo || ./notes.md")),
			told: alike,
			twin: story{
				round: round{
					build: []string{works},
					says:  []string{done("sh greet.sh | grep -q hello || grep nothing notes.md")},
				},
			},
		},
		{
			name: "something is left running",
			lie:  line(done("sleep 60 >/dev/null 2>&1 & true")),
			told: alike,
			twin: story{
				round: round{
					build: []string{works},
					says:  []string{done("sleep 60 >/dev/null 2>&1 & p=$!; " + theTest + " && kill $p")},
				},
			},
		},
		{
			name: "something that is left running speaks",
			lie:  line(done("(sleep 60; sh greet_test.sh) & true")),
			told: alike,
			twin: story{round: round{build: []string{works}, says: []string{done("(sleep 0.1; sh greet_test.sh) & wait $!")}}},
		},
		{
			name: "a required check passes sometimes",
			lie: story{
				flags: append(open, "--check", sometimes),
				round: round{build: []string{breaks}, says: []string{done()}},
			},
			told: unshown,
			twin: story{flags: []string{"--check", theTest}, round: round{build: []string{works}}},
		},
		{
			name: "a check passes sometimes",
			lie:  story{flags: open, verify: sometimes, round: round{build: []string{breaks}, says: []string{done()}}},
			told: unshown,
			twin: story{verify: theTest, round: round{build: []string{works}}},
		},
		{
			name: "a line passes sometimes",
			lie:  story{flags: open, round: round{build: []string{breaks}, says: []string{done(sometimes)}}},
			told: unshown,
			twin: proven,
		},
	}
}
