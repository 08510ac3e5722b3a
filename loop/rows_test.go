package loop_test

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// row is what becomes of a row of a case table: the tests that hold its rule,
// in this package or in one beside it ("memory.TestX"), and where we differ on
// purpose, or lack what the row is about, why.
type row struct {
	tests []string
	why   string
}

var phiRows = map[string]row{
	"before_turn_veto": {tests: []string{"TestAVetoEndsTheLoop"}},
	"retry_exhausted": {tests: []string{"TestRetries"}, why: "the failure is the " +
		"run's error and a discarded message, not a message that pretends to be the model's"},
	"abort_before_start": {tests: []string{"TestARunThatIsCancelledBeforehandKeepsThePrompt"}},
	"batched_two": {tests: []string{"TestStrategies"}, why: "overlap is proven " +
		"by calls that wait for each other, not by the clock"},
	"tool_errors_fed_back": {tests: []string{"TestWhatAModelIsToldAboutBadCalls", "TestAFailedToolIsReadAndTheLoopGoesOn"}},
	"continuation_identity": {tests: []string{"TestContinue", "TestTriggers"}, why: "a " +
		"conversation keeps its one id, and its turns count on; there are no ids of single runs of the loop to chain"},
	"filter_rejects_follow_up": {tests: []string{"TestAFollowUpThatIsRejectedIsDropped"}},
	"tool_round_trip": {
		tests: []string{"TestATurnWithAToolCostsTwoCommits", "TestAFailedToolIsReadAndTheLoopGoesOn"},
	},
	"auth_never_retried_but_refreshed_once": {tests: []string{"TestKeysAreAskedForEachCall"}},
	"threshold_arithmetic": {tests: []string{"loop/compact.TestRoom"}, why: "our trigger is the window " +
		"less the output's reserve and a buffer, and the target lies below it, so that a compaction is not due " +
		"again at once"},
	"working_context_prune": {tests: []string{"TestPrune"}, why: "one log in the order of its sequence," +
		" not two streams by timestamp; whole groups of calls and results, one memo"},
	"tool_timeout": {tests: []string{"TestAToolThatTakesTooLongIsStopped", "TestAToolsOwnTimeCountsFirst"}, why: "no " +
		"tool is unbounded: its category bounds it where nothing else does"},
	"sub_agent_limits": {
		tests: []string{"TestWhatAParentReadsOfASubAgent", "TestASubAgentIsCancelledWithItsParent"},
		why:   "nothing starts after a cancel, so a call that was cancelled beforehand says that, not the fallback",
	},
	"cross_session_child": {tests: []string{"TestSubAgentsWorkAtTheSameTime"}},
	"recorder_turns": {tests: []string{"TestTriggers", "TestATurnWithAToolCostsTwoCommits"}, why: "no " +
		"journal of ours has the legacy trigger name"},
	"atomic_concurrent_saves": {
		tests: []string{"memory.TestAppendFromManyGoroutinesHasNoGaps", "memory.TestSecondProcessIsRefusedUntilTheFirstIsKilled"},
		why:   "a run has one writer, and its journal is a database",
	},
	"env_and_refs": {tests: []string{"config.TestLoadReadsEveryKey", "config.TestLoadRefuses"}, why: "settings " +
		"hold no references to variables or to each other, and an unknown key is an error"},
	"extract_json":    {tests: []string{"model/chat.TestFormatToolAlone", "review.TestParseCases"}},
	"classify_errors": {tests: []string{"model/chat.TestStatuses"}},
	"thinking_translation": {tests: []string{"model/chat.TestMessages"}, why: "one wire; " +
		"reasoning goes back where the server wants it and is left out elsewhere"},
	"skills_index": {tests: []string{"TestSkillIndex"}, why: "the loop takes skills " +
		"as data; who finds them on disk is another package"},
	"openapi_adapter":    {tests: []string{"tools/openapi.TestCalls", "tools/openapi.TestSchemas"}},
	"message_round_trip": {tests: []string{"plan.TestMessagesAreSavedWhole", "plan.FuzzMessage"}},
}

var bipaRows = map[string]row{
	"stream_feed_bounded": {
		tests: []string{"face/render.TestPumpDropsLiveEventsOfASlowViewer", "face/render.TestPumpGivesUpOnABlockedViewer"},
	},
	"guardrail_blocks_fresh_prompt": {tests: []string{"TestARejectedPromptLeavesNoTrace"}},
	"envelope_invariants": {
		tests: []string{"memory.TestAppendGivesSeqAndStoresTheBytes", "memory.TestAppendFromManyGoroutinesHasNoGaps"},
		why:   "an event is named by its run and its seq, which counts from 1",
	},
	"listen_tool": {why: "there are no tools that listen before they act; a question " +
		"or a confirmation suspends the loop instead"},
	"continuation_validation": {tests: []string{"TestAConfirmationIsResumed", "TestToolsThatRunElsewhere"}},
	"external_runtime":        {tests: []string{"TestToolsThatRunElsewhere", "TestAResultFromElsewhereIsWaitedFor"}},
	"usage_budget":            {tests: []string{"TestLimits", "TestWhoHasNothingLeftTakesNoPrompt"}},
	"parallel_observe":        {tests: []string{"TestParallelResultsKeepCallOrder", "TestStrategies"}},
	"orphan_recovery":         {tests: []string{"TestAHistoryThatEndsInACallIsBalanced", "loop/pairing.TestRepair"}},
	"cancel_parallel_batch":   {tests: []string{"TestACancelledBatchIsBalanced"}},
	"panics": {
		tests: []string{"TestAPanicIsAResult", "TestAModelThatPanicsHasFailed", "TestAToolThatTakesTooLongIsStopped"},
	},
	"intent_written_first": {
		tests: []string{
			"TestAJournalThatFailsStopsBeforeTheEffect",
			"TestATurnWithAToolCostsTwoCommits",
			"TestACancelledBatchIsBalanced",
		},
	},
	"intent_store_down": {tests: []string{"TestAJournalThatFailsStopsBeforeTheEffect"}},
	"recovery_matrix": {
		tests: []string{"TestALostCallIsReportedAsUnknown", "memory.TestSecondProcessIsRefusedUntilTheFirstIsKilled"},
		why:   "a run is held by a kernel lock that death releases, not by a lease that runs out",
	},
	"stale_commit": {tests: []string{"memory.TestFencing"}},
	"crash_points": {
		tests: []string{
			"TestResumeAtEveryCommit",
			"engine.TestDyingAfterEveryAppend",
			"memory.TestVerifyChainNamesTheFirstBrokenEvent",
		},
	},
	"crash_in_commit_txn": {
		tests: []string{"memory.TestKilledBetweenAppendsLosesNothing", "TestNothingIsRecordedAfterAFailedCommit"},
	},
	"kill_9_question": {tests: []string{"TestAQuestionWaitsForItsAnswer"}},
	"lagging_subscriber": {
		tests: []string{"memory.TestFollowSeesAnotherProcess", "face/render.TestPumpKeepsTheOrder"},
		why:   "a reader that falls behind reads on from the database, from the last seq it had; nobody has to tell it to",
	},
	"durable_confirmation": {
		tests: []string{"TestConfirmationAcrossARestart", "TestAConfirmationIsResumed", "TestAGateDecidesAtOnce"},
	},
	"seeded_simulation": {tests: []string{"engine.TestDyingAnywhere", "memory.TestFencing"}, why: "there " +
		"are no leases: what is simulated is death at any point"},
	"subagent": {tests: []string{"TestSubAgentsStandOnlySoDeep", "TestWhatAParentReadsOfASubAgent"}},
	"compaction_pairs": {
		tests: []string{
			"loop/compact.TestCutProperties",
			"loop/compact.TestTrimProperties",
			"loop/compact.TestBreaker",
			"TestFullCompactionSummarises",
		},
	},
}

// TestEveryRowHasItsTest: a row without an entry, an entry without a row, and a
// test that is not there are mistakes.
func TestEveryRowHasItsTest(t *testing.T) {
	t.Parallel()
	read := map[string][]string{} // the tests of a folder, which are parsed once
	for file, rows := range map[string]map[string]row{"phi": phiRows, "bipa": bipaRows} {
		seen := map[string]bool{}
		for _, name := range caseNames(t, file) {
			r, ok := rows[name]
			seen[name] = true
			if !ok || len(r.tests) == 0 && r.why == "" {
				t.Errorf("%s: %s has no test and no reason", file, name)
			}
			for _, test := range r.tests {
				dir, fn, beside := strings.Cut(test, ".")
				if !beside {
					dir, fn = "loop", test
				}
				if dir == "plan" {
					dir = "."
				}
				if read[dir] == nil {
					read[dir] = testsIn(t, filepath.Join("..", dir))
				}
				if !slices.Contains(read[dir], fn) {
					t.Errorf("%s: %s names %s, which is not there", file, name, test)
				}
			}
		}
		for name := range rows {
			if !seen[name] {
				t.Errorf("%s: there is no row %s", file, name)
			}
		}
	}
}

func caseNames(t *testing.T, file string) []string {
	t.Helper()
	f, err := os.Open("testdata/" + file + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c struct{ Name string }
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil || c.Name == "" {
			t.Fatalf("%s: %v in %s", file, err, lines.Text())
		}
		out = append(out, c.Name)
	}
	if len(out) < 20 {
		t.Fatalf("%s has %d rows", file, len(out))
	}
	return out
}

// testsIn lists the tests of a package.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				out = append(out, fn.Name.Name)
			}
		}
	}
	return out
}
