package checks

import "github.com/plan-engine/plan/internal/lazy"

// runners are those that say in one place how many tests there were. Those that
// have to be followed line by line are read by functions of their own.
var runners = []runner{
	{
		name:  "unittest",
		pairs: eitherWay,
		sums: lazy.Regexp(`^Ran \d+ tests? in [\d.]+s$|` +
			`^(?:OK|FAILED) \((?:(?:failures|errors|skipped|expected failures|unexpected successes)=\d+(?:, )?)+\)$`),
		none: lazy.Regexp(`^NO TESTS RAN`),
	},
	{
		name: "jest",
		sums: lazy.Regexp(`^(?:.*[\s|:])?Tests: {2,}.*\d+ total$`),
		none: lazy.Regexp(`^No tests found, exiting with code \d|^No tests found related to files`),
	},
	{
		name: "vitest",
		sums: lazy.Regexp(`^\s*Tests  +\d+ [a-z].*\(\d+\)$`),
		none: lazy.Regexp(`^\s*Tests  +no tests$|^No test (?:suite |files? )found, exiting with code \d`),
	},
	{
		name: "mocha",
		sums: lazy.Regexp(`^\s*\d+ (?:passing \(\d[\d.]*\w+\)|pending|failing)$`),
	},
	{
		name: "jasmine",
		sums: lazy.Regexp(`^\d+ specs?, \d+ failures?(?:, \d+ pending specs?)?$`),
		none: lazy.Regexp(`^No specs found`),
	},
	{
		name: "playwright",
		sums: lazy.Regexp(`^  \d+ (?:passed \([\d.]+m?s\)|failed|skipped|flaky|did not run)$`),
		none: lazy.Regexp(`^Error: No tests found$`),
	},
	{
		name: "bun",
		sums: lazy.Regexp(`^ \d+ (?:pass|fail|skip|todo)$`),
	},
	{
		name: "deno",
		sums: lazy.Regexp(`^(?:ok|FAILED) \| \d+ passed`),
	},
	{
		name: "cargo",
		sums: lazy.Regexp(`^test result: (?:ok|FAILED)\. \d+ passed;|^\s*Summary \[.*\]\s+\d+ tests? run: `),
	},
	{
		name:  "junit",
		pairs: eitherWay,
		sums: lazy.Regexp(`^(?:\[\w+\] )?Tests run: \d+, +Failures: \d+(?:, Errors: \d+, Skipped: \d+)?$|` +
			`^OK \(\d+ tests?\)$|^\[ +\d+ tests (?:successful|failed|skipped|aborted) +\]$`),
		none: lazy.Regexp(`^(?:\[\w+\] )?No tests to run\.$|No tests were executed!`),
	},
	{
		name:   "gradle",
		sums:   lazy.Regexp(`^\d+ tests? completed(?:, \d+ failed)?(?:, \d+ skipped)?$`),
		none:   lazy.Regexp(`^> Task :(?:\S+:)?test (?:NO-SOURCE|SKIPPED)$`),
		silent: lazy.Regexp(`^> Task :(?:\S+:)?test(?: UP-TO-DATE| FROM-CACHE)?$`),
	},
	{
		name: "rspec",
		sums: lazy.Regexp(
			`^\d+ examples?, \d+ failures?(?:, \d+ pending)?(?:, \d+ errors? occurred outside of examples)?$`,
		),
		none: lazy.Regexp(`^No examples found\.$`),
	},
	{
		name: "minitest",
		sums: lazy.Regexp(`^\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors`),
	},
	{
		name:  "phpunit",
		pairs: eitherWay,
		sums:  lazy.Regexp(`^OK \(\d+ tests?, \d+ assertions?\)$|^Tests: \d+, Assertions: \d+`),
		none:  lazy.Regexp(`^No tests executed!$`),
	},
	{
		name:  "ctest",
		pairs: lazy.Regexp(`(\d+) (tests failed) out|(of) (\d+)$|\((Skipped)\)$`),
		sums:  lazy.Regexp(`^\d+% tests passed, \d+ tests failed out of \d+$|^\s*\d+ - .*\(Skipped\)$`),
		none:  lazy.Regexp(`^No tests were found!!!$`),
	},
	{
		name:  "dotnet",
		pairs: wordNumber,
		sums: lazy.Regexp(`^(?:Passed|Failed|Skipped)!\s+- Failed:|^Total tests: \d+$|` +
			`^ +(?:Passed|Failed|Skipped|succeeded|failed|skipped): +\d+$`),
		none: lazy.Regexp(`^No test is available in |^No test matches the given testcase filter`),
	},
	{
		name: "exunit",
		sums: lazy.Regexp(`^(?:\d+ (?:doctests?|propert(?:y|ies)), )*\d+ tests?, \d+ failures?` +
			`(?:, \d+ (?:skipped|excluded|invalid))*$`),
	},
	{
		name: "gotestsum",
		sums: lazy.Regexp(`^DONE (?:\d+ runs, )?\d+ tests?(?:, \d+ (?:skipped|failures?|errors?))* in [\d.]+s$`),
	},
	{
		name:  "prove",
		pairs: wordNumber,
		sums:  lazy.Regexp(`^Files=\d+, Tests=\d+,`),
		none:  lazy.Regexp(`^Result: NOTESTS$`),
	},
}
