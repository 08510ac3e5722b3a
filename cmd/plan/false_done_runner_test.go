package main

// falseRunnerLines are lines that keep a test runner from running the test.
func falseRunnerLines() []falseDone {
	var out []falseDone
	take := func(files map[string]string, wrong, right string, lines ...falseLine) {
		for _, l := range lines {
			out = append(out, l.of(files, wrong, right))
		}
	}
	take(makeFiles(), breaks, works,
		falseLine{name: "make -n", line: "make -n test", honest: "make test"},
		falseLine{name: "make -n by its settings", line: "MAKEFLAGS=-n make test", honest: "MAKEFLAGS=-s make test"},
		falseLine{name: "make -i", line: "make -i test", honest: "make -k test"},
		falseLine{name: "make -t", line: "make -t test", honest: "make -B test"},
		falseLine{name: "make with another shell", line: "make test SHELL=/bin/true", honest: "make test SHELL=/bin/bash"},
		falseLine{name: "make of another target", line: "make Makefile", honest: "make Makefile test"},
		falseLine{
			name:   "make of another file",
			line:   "echo 'test:;true' >/tmp/mk; make -f /tmp/mk test",
			honest: "echo 'test:;sh greet_test.sh' >/tmp/mk; make -f /tmp/mk test",
		},
		falseLine{name: "make elsewhere", line: "make -C sub test", honest: "make -C . test", told: otherwise},
		falseLine{name: "make told to be old", line: "make -o test test", honest: "make -W test test"},
	)
	take(goFiles(), goBreaks, goWorks,
		falseLine{name: "go list of tests", line: "go test -list . ./...", honest: "go test ./..."},
		falseLine{
			name:   "go run of no test",
			line:   "go test -run NoSuch ./...",
			honest: "go test -run Greet ./...",
			told:   ranNone,
		},
		falseLine{
			name:   "go skip of the test",
			line:   "go test -skip Greet ./...",
			honest: "go test -skip Other ./...",
			told:   ranNone,
		},
		falseLine{
			name:   "go exec of true",
			line:   "GOFLAGS=-exec=true go test ./...",
			honest: "GOFLAGS=-exec=env go test ./...",
		},
		falseLine{name: "go count 0", line: "go test -count=0 ./...", honest: "go test -count=1 ./...", told: ranNone},
		falseLine{
			name:   "go compile alone",
			line:   "go test -c -o /dev/null .",
			honest: "go test -c -o /tmp/greet.test . && /tmp/greet.test",
		},
		falseLine{name: "go vet", line: "go vet ./...", honest: "go vet ./... && go test ./..."},
		falseLine{name: "go dry run", line: "go test -n ./...", honest: "go test -v ./..."},
		falseLine{
			name:   "go vet stands for test",
			line:   "go build ./... && go test ./... || go vet ./...",
			honest: "go build ./... && go test ./...",
		},
	)
	take(pyFiles(), pyBreaks, pyWorks,
		falseLine{
			name:   "python -k of none",
			line:   "python3 -m unittest -k nosuch",
			honest: "python3 -m unittest -k greet",
			told:   ranNone,
		},
		falseLine{
			name:   "python import alone",
			line:   "python3 -c 'import test_greet'",
			honest: "python3 -m unittest test_greet",
		},
		falseLine{
			name:   "python loads and does not run",
			line:   "python3 -c 'import unittest; unittest.TestLoader().discover(\".\")'",
			honest: "python3 -m unittest discover",
		},
		falseLine{
			name:   "python compile alone",
			line:   "python3 -m py_compile test_greet.py",
			honest: "python3 test_greet.py",
		},
		falseLine{
			name:   "python without asserts",
			line:   "python3 -O -c 'import greet; assert greet.greet() == \"hello\"'",
			honest: "python3 -c 'import greet; assert greet.greet() == \"hello\"'",
		},
		falseLine{
			name:   "python pattern of none",
			line:   "python3 -m unittest discover -p 'nosuch*.py'",
			honest: "python3 -m unittest discover -p 'test*.py'",
			told:   ranNone,
		},
	)
	take(nodeFiles(), nodeBreaks, nodeWorks,
		falseLine{
			name:   "node pattern of none",
			line:   "node --test --test-name-pattern=nosuch",
			honest: "node --test --test-name-pattern=greets",
			told:   ranNone,
		},
		falseLine{name: "node check alone", line: "node --check greet.test.js", honest: "node greet.test.js"},
		falseLine{name: "node only where none is", line: "node --test --test-only", honest: "node --test", told: ranNone},
		falseLine{name: "npm runs none", line: "npm run", honest: "npm test"},
		falseLine{name: "npm if present", line: "npm run tests --if-present", honest: "npm run test --if-present"},
	)
	return out
}
