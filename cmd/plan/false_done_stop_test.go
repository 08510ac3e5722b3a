package main

import "github.com/plan-engine/plan/model/scripted"

// falseStops are answers that were stopped before their end. The honest ones
// say the same and come to it.
func falseStops() []falseDone {
	sorry := "I'm sorry, I cannot assist with that."
	proven := round{build: []string{works}, ran: []string{theTest}, says: []string{done(theTest)}}
	stopped := func(name, told string, reply scripted.Reply) falseDone {
		whole := reply
		whole.Finish, whole.Refusal = "", ""
		return falseDone{
			name: name,
			lie:  story{round: proven, replies: []scripted.Reply{reply}},
			told: told,
			twin: story{round: proven, replies: []scripted.Reply{whole}},
		}
	}
	spoken := func(name, phase, told, lie, twin string) falseDone {
		return falseDone{
			name: name,
			lie:  story{round: proven, replies: []scripted.Reply{{Phase: phase, Text: lie}}},
			told: told,
			twin: story{round: proven, replies: []scripted.Reply{{Phase: phase, Text: twin}}},
		}
	}
	first := 0
	twoWrites := []scripted.Call{bash("echo 'echo hullo' >greet.sh"), bash(works + "; sed -i s/hullo/hello/ greet.sh")}
	var out []falseDone
	for _, finish := range []string{"content_filter", "refusal", "safety", "recitation"} {
		out = append(out,
			stopped(
				"two writes: "+finish,
				"refused",
				scripted.Reply{Phase: "implement", User: 1, Turn: &first, Calls: twoWrites, Finish: finish},
			),
			stopped(
				"a DONE: "+finish,
				"refused",
				scripted.Reply{Phase: "review", Turn: new(int), Text: done(theTest), Finish: finish},
			),
		)
	}
	return append(out,
		stopped(
			"a report: content_filter",
			"refused",
			scripted.Reply{
				Phase:  "explore",
				Text:   "**What is asked** to greet. **Where it happens** greet.sh:1",
				Finish: "content_filter",
			},
		),
		stopped(
			"a plan: content_filter",
			"refused",
			scripted.Reply{Phase: "plan", Text: "# Plan\n## Steps\n1. Change greet.sh.\n", Finish: "content_filter"},
		),
		stopped(
			"a report cut by length",
			"limit",
			scripted.Reply{
				Phase:  "explore",
				Text:   "**What is asked** to greet. **Where it happens** greet.sh:1",
				Finish: "length",
			},
		),
		stopped(
			"a plan cut by length",
			"limit",
			scripted.Reply{Phase: "plan", Text: "# Plan\n## Steps\n1. Change greet.sh.\n", Finish: "length"},
		),
		stopped(
			"a DONE cut by length",
			"cut it off",
			scripted.Reply{Phase: "review", Turn: &first, Text: done(theTest), Finish: "length"},
		),
		stopped(
			"a DONE named early",
			"cut it off",
			scripted.Reply{Phase: "review", Turn: &first, Text: "I read the change.\n" + done(theTest), Finish: "length"},
		),
		stopped(
			"a DONE beside a refusal",
			"refus",
			scripted.Reply{Phase: "review", Turn: &first, Text: done(theTest), Refusal: sorry},
		),
		stopped(
			"a report beside a refusal",
			"refus",
			scripted.Reply{
				Phase:   "explore",
				Text:    "**What is asked** to greet. **Where it happens** greet.sh:1",
				Refusal: sorry,
			},
		),
		spoken(
			"sorry for a report",
			"explore",
			"refused",
			sorry,
			"**What is asked** to greet. **Where it happens** greet.sh:1",
		),
		spoken("sorry for a plan", "plan", "refused", sorry, "# Plan\n## Steps\n1. Change greet.sh.\n"),
		falseDone{
			name: "sorry for a verdict",
			lie:  story{round: round{build: []string{works}, says: []string{sorry}}},
			told: "no JSON object",
			twin: story{round: round{says: []string{"Sorry to be short.\n" + done(theTest)}}},
		},
		falseDone{
			name: "sorry for the work",
			lie:  story{round: round{build: []string{}, closes: sorry, ran: []string{theTest}, says: []string{done("ls")}}},
			told: "no file was changed",
			twin: story{round: round{build: []string{works}, closes: "Sorry, that took long.", says: []string{done(theTest)}}},
		},
	)
}
