package main

import "strings"

// falseVerdicts are reviews that do not say DONE, over work for which there is
// evidence: what is read decides.
func falseVerdicts() []falseDone {
	proven := done(theTest)
	needsFix := `{"verdict": "NEEDS_FIX", "missing": [{"gap": "no word on names", "severity": "must"}]}`
	said := func(name, lie, told, twin string, again ...string) falseDone {
		return falseDone{
			name: name,
			lie:  story{round: round{build: []string{works}, ran: []string{theTest}, says: append([]string{lie}, again...)}},
			told: told,
			twin: story{round: round{says: []string{twin}}},
		}
	}
	part := func(more string) string { return strings.TrimSuffix(proven, "}") + ", " + more + "}" }
	return []falseDone{
		said(
			"a fix, then a DONE quoted",
			needsFix+"\nOtherwise I would have said {\"verdict\": \"DONE\"}.",
			"two verdicts",
			"I would say {\"greets\": \"hello\"}.\n"+proven,
		),
		said("a DONE, then a fix", proven+"\n"+needsFix, "two verdicts", "First the test, then this.\n"+proven),
		said(
			"a DONE, then a doubt",
			proven+"\nBut names are not greeted.",
			"no word on names",
			"Names are greeted.\n\n"+proven,
			needsFix,
		),
		said(
			"a DONE in a thought",
			"<think>"+proven+"</think>\nNames are not greeted.",
			"no JSON object",
			"<think>"+needsFix+"</think>\n"+proven,
		),
		said(
			"a DONE in a thought, then a fix",
			"<think>"+proven+"</think>\n"+needsFix,
			"no word on names",
			"<think>Is it done?</think>\n"+proven,
		),
		said(
			"a thought that never ends",
			"<think>I might say "+proven,
			"came back empty",
			"<think>I might say DONE</think>"+proven,
		),
		said(
			"a thought of another name",
			"<reasoning>"+proven+"</reasoning>",
			"it is empty",
			"<reasoning>yes</reasoning>"+proven,
		),
		said("a thought opened before", proven+"</think>\nNo.", "no JSON object", "yes</think>\n"+proven),
		said(
			"a key in disguise",
			`{"\u0076erdict": "NEEDS_FIX", "missing": [{"gap": "no word on names"}]} {"verdict": "DONE"}`,
			"two verdicts",
			strings.Replace(proven, "verdict", `\u0076erdict`, 1),
		),
		said(
			"a word in disguise",
			`{"verdict": "\u004eEEDS_FIX", "missing": "no word on names"}`,
			"no word on names",
			strings.Replace(proven, "DONE", `\u0044ONE`, 1),
		),
		said(
			"the key twice",
			`{"verdict": "DONE", "verdict": "NEEDS_FIX", "commands": ["sh greet_test.sh"]}`,
			"given twice",
			`{"verdict": "DONE", "verdict": "DONE", "commands": ["sh greet_test.sh"]}`,
		),
		said(
			"a key in capitals",
			`{"Verdict": "DONE", "commands": ["sh greet_test.sh"]}`,
			"must be written",
			strings.Replace(proven, "DONE", "done", 1),
		),
		said("gaps under another key", part(`"gaps": ["no word on names"]`), "no key of a verdict", part(`"gaps": []`)),
		said(
			"issues under another key",
			part(`"issues": [{"text": "no word on names"}]`),
			"no key of a verdict",
			part(`"issues": null`),
		),
		said(
			"objects under another key",
			part(`"open": {"names": "not greeted"}`),
			"no key of a verdict",
			part(`"summary": "all is well"`),
		),
		said("a remark under another key", part(`"blocker": ["names"]`), "no key of a verdict", part(`"blocker": "none"`)),
		said("missing, in capitals", part(`"Missing": ["no word on names"]`), "must be written", part(`"confidence": 0.9`)),
		said(
			"missing, twice",
			doneWith(`"missing": [], "missing": ["no word on names"]`),
			"no word on names",
			doneWith(`"missing": []`),
		),
		said(
			"a must beside DONE",
			doneWith(`"missing": [{"gap": "no word on names", "severity": "must"}]`),
			"no word on names",
			doneWith(`"missing": [{"gap": "a word on names would be nice", "severity": "should"}]`),
		),
		said(
			"a gap without a weight",
			doneWith(`"missing": ["no word on names"]`),
			"no word on names",
			doneWith(`"missing": "No gaps."`),
		),
		said(
			"a gap in a sentence",
			doneWith(`"missing": "names are not greeted"`),
			"names are not greeted",
			doneWith(`"missing": "[]"`),
		),
		said(
			"an ellipsis of gaps",
			doneWith(`"missing": "..."`),
			"...",
			doneWith(`"missing": "null"`),
		),
		said(
			"none, except one",
			doneWith(`"missing": "None, except that names are not greeted"`),
			"names are not greeted",
			doneWith(`"missing": "None."`),
		),
		said(
			"an item that is not met",
			doneWith(`"checklist": [{"item": "greets names", "met": false}]`),
			"greets names",
			doneWith(`"checklist": [{"item": "greets names", "met": true}]`),
		),
		said(
			"an item without a word on it",
			doneWith(`"checklist": [{"item": "greets names"}]`),
			"greets names",
			doneWith(`"checklist": ["greets names"]`),
		),
		said(
			"an item met in part",
			doneWith(`"checklist": [{"item": "greets names", "met": "partly"}]`),
			"greets names",
			doneWith(`"checklist": [{"item": "greets parts of names", "met": true}]`),
		),
		said(
			"an item NOT done",
			doneWith(`"checklist": ["greets names: NOT done"]`),
			"greets names",
			doneWith(`"checklist": ["greets names: done"]`),
		),
		said(
			"an item with an open box",
			doneWith(`"checklist": "- [x] greets\n- [ ] greets names"`),
			"greets names",
			doneWith(`"checklist": "- [x] greets\n- [x] greets names"`),
		),
		said(
			"an item with a cross",
			doneWith(`"checklist": ["❌ greets names"]`),
			"greets names",
			doneWith(`"checklist": ["✅ greets names"]`),
		),
		said(
			"an item met and denied",
			doneWith(`"checklist": [{"item": "names could not be verified", "met": true}]`),
			"names could not be verified",
			doneWith(`"checklist": [{"item": "does not crash without a name", "met": true}]`),
		),
		said(
			"an item met and failing",
			doneWith(`"checklist": [{"item": "greets names", "met": true, "status": "failed"}]`),
			"no word on names",
			doneWith(`"checklist": [{"item": "greets names", "met": true, "status": "passed"}]`),
			needsFix,
		),
		said(
			"prose of another verdict",
			"Verdict: NEEDS_FIX, names are missing.\n"+proven,
			"another verdict",
			"The test shows it.\n```json\n"+proven+"\n```",
		),
		said("prose alone", "It is DONE, all tests pass.", "no JSON object", "All tests pass.\n"+proven),
		said("no JSON", "{'verdict': 'DONE'}", "not valid", strings.ReplaceAll(proven, `": `, `":`)),
		said(
			"another word",
			`{"verdict": "DONE_WITH_GAPS", "commands": ["sh greet_test.sh"]}`,
			"must be DONE",
			`{"verdict": "Done", "commands": ["sh greet_test.sh"]}`,
		),
		said("a verdict within", `{"answer": `+proven+`}`, "top level", "~~~\n"+proven+"\n~~~"),
		said("a list of verdicts", `[`+proven+`, `+needsFix+`]`, "top level", "The one verdict:\n"+proven),
		said("a verdict that is not closed", strings.TrimSuffix(proven, "}"), "not valid", proven+"\n\n"),
		said(
			"a fix, then another object",
			needsFix+"\n"+`{"done": true}`,
			"no word on names",
			`{"looked_at": "greet.sh"}`+"\n"+proven,
		),
		said("blocked", `{"verdict": "BLOCKED", "missing": [{"gap": "needs a phone"}]}`, "cannot be verified here", proven),
	}
}
