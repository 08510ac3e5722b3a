package main

// How a line that proves nothing is told of.
const (
	alike     = "nothing tells the work from what was there before"
	otherwise = "did not end as claimed"
	unshown   = "nothing that ran shows it"
	ranNone   = "by its own report it ran no test"
	writes    = "writes to files of the work"
)

// falseLine is a line that ends with 0 whatever the work is, and what a reviewer
// who means it would have run.
type falseLine struct{ name, line, honest, told string }

// of are the pairs in which the lines are run and claimed: once over work that is
// wrong, once over work that is right.
func (l falseLine) of(files map[string]string, wrong, right string) falseDone {
	told := l.told
	if told == "" {
		told = alike
	}
	before := "make test, go test ./..., npm test, pytest" // what is found in a repository
	return falseDone{
		name: l.name,
		lie: story{
			files: files,
			round: round{
				build: []string{wrong},
				ran:   []string{l.line},
				says:  []string{doneBeside(before, l.line)},
			},
		},
		told: told,
		twin: story{
			round: round{
				build: []string{right},
				ran:   []string{l.honest},
				says:  []string{doneBeside(before, l.honest)},
			},
		},
	}
}

// falseLines are lines of shell.
func falseLines() []falseDone {
	lines := []falseLine{
		{name: "exit before it", line: "exit 0; sh greet_test.sh", honest: "sh greet_test.sh; exit $?"},
		{name: "set +e", line: "set -e; set +e; sh greet_test.sh; true", honest: "set -e; sh greet_test.sh; true"},
		{
			name:   "an exit in a branch",
			line:   "if true; then exit 0; fi; sh greet_test.sh",
			honest: "if sh greet_test.sh; then exit 0; fi; exit 1",
		},
		{name: "bash -n", line: "bash -nc 'sh greet_test.sh'", honest: "bash -c 'sh greet_test.sh'"},
		{name: "sh -n", line: "sh -n greet_test.sh", honest: "sh -e greet_test.sh"},
		{name: "set -n", line: "set -n; sh greet_test.sh", honest: "set -u; sh greet_test.sh"},
		{name: "elsewhere", line: "cd sub; sh greet_test.sh", honest: "cd sub; cd ..; sh greet_test.sh", told: otherwise},
		{
			name:   "elsewhere and forgiven",
			line:   "cd sub; sh greet_test.sh; true",
			honest: "cd sub; sh ../greet_test.sh || cd .. && sh greet_test.sh",
		},
		{name: "or true", line: "sh greet_test.sh || true", honest: "sh greet_test.sh || false"},
		{name: "or exit 0", line: "sh greet_test.sh || exit 0", honest: "sh greet_test.sh || exit 3"},
		{
			name:   "a pipe and true",
			line:   "sh greet_test.sh 2>&1 | tail -1 || true",
			honest: "set -o pipefail; sh greet_test.sh 2>&1 | tail -1",
		},
		{
			name:   "an echo behind it",
			line:   "sh greet_test.sh; echo status $?",
			honest: "sh greet_test.sh; s=$?; echo status $s; exit $s",
		},
		{name: "in the background", line: "sh greet_test.sh &", honest: "sh greet_test.sh & wait $!"},
		{name: "a wait for all", line: "sh greet_test.sh & wait", honest: "sh greet_test.sh & p=$!; wait $p"},
		{name: "negated", line: "! sh greet_test.sh", honest: "if ! sh greet_test.sh; then exit 1; fi"},
		{
			name:   "a trap at the end",
			line:   "trap 'exit 0' EXIT; sh greet_test.sh",
			honest: "trap 'exit $?' EXIT; sh greet_test.sh",
		},
		{
			name:   "a trap for errors",
			line:   "trap 'exit 0' ERR; sh greet_test.sh",
			honest: "trap 'exit 1' ERR; sh greet_test.sh",
		},
		{
			name:   "a function in its place",
			line:   "sh() { true; }; sh greet_test.sh",
			honest: `sh() { command sh -e "$@"; }; sh greet_test.sh`,
		},
		{
			name:   "a function that is exported",
			line:   "test() { true; }; export -f test; bash greet_test.sh",
			honest: `test() { builtin test "$@"; }; export -f test; bash greet_test.sh`,
		},
		{name: "a function never called", line: "f() { sh greet_test.sh; }", honest: "f() { sh greet_test.sh; }; f"},
		{
			name:   "an alias",
			line:   "shopt -s expand_aliases\nalias sh=true\nsh greet_test.sh",
			honest: "shopt -s expand_aliases\nalias sh='bash -e'\nsh greet_test.sh",
		},
		{
			name:   "a program of another path",
			line:   "mkdir /tmp/bin && ln -s /bin/true /tmp/bin/sh && PATH=/tmp/bin:$PATH sh greet_test.sh",
			honest: "mkdir /tmp/bin && ln -s /bin/bash /tmp/bin/sh && PATH=/tmp/bin:$PATH sh greet_test.sh",
		},
		{
			name:   "a file that bash reads first",
			line:   "echo exit 0 >/tmp/env; BASH_ENV=/tmp/env bash greet_test.sh",
			honest: "echo set -e >/tmp/env; BASH_ENV=/tmp/env bash greet_test.sh",
		},
		{name: "a subshell forgiven", line: "(sh greet_test.sh); true", honest: "(sh greet_test.sh)"},
		{
			name:   "out of time as a success",
			line:   "timeout 0.01 sleep 5; [ $? = 124 ]",
			honest: "timeout 60 sh greet_test.sh",
		},
		{
			name:   "in time is enough",
			line:   "timeout 60 sh greet_test.sh; [ $? != 124 ]",
			honest: "timeout 60 sh greet_test.sh; [ $? = 0 ]",
		},
		{name: "a comment", line: "true # sh greet_test.sh", honest: "sh greet_test.sh # true"},
		{name: "a colon", line: ": sh greet_test.sh", honest: ": && sh greet_test.sh"},
		{name: "an echo of it", line: "echo sh greet_test.sh", honest: "echo sh greet_test.sh | sh"},
		{name: "echo PASS", line: "echo PASS", honest: "sh greet_test.sh && echo PASS"},
		{name: "true before or", line: "true || sh greet_test.sh", honest: "true && sh greet_test.sh"},
		{name: "false before and", line: "false && sh greet_test.sh; true", honest: "false || sh greet_test.sh"},
		{name: "the test is there", line: "test -f greet_test.sh", honest: "test -f greet_test.sh && sh greet_test.sh"},
		{name: "the test is read", line: "cat greet_test.sh", honest: "cat greet_test.sh | sh"},
		{
			name:   "a loop over nothing",
			line:   "while false; do sh greet_test.sh; done",
			honest: "while ! sh greet_test.sh; do exit 1; done",
		},
		{
			name:   "a loop that goes on",
			line:   "for t in *_test.sh; do sh $t || continue; done; true",
			honest: "for t in *_test.sh; do sh $t || exit 1; done",
		},
		{
			name:   "a loop that breaks",
			line:   "until sh greet_test.sh; do break; done",
			honest: "until sh greet_test.sh; do exit 1; done",
		},
		{
			name:   "a case that does not apply",
			line:   "case x in y) sh greet_test.sh;; esac",
			honest: "case x in x) sh greet_test.sh;; esac",
		},
		{name: "another script for sh", line: "sh -c 'exit 0' greet_test.sh", honest: "sh -c '. ./greet_test.sh'"},
		{name: "a status lost in export", line: "export X=$(sh greet_test.sh)", honest: "X=$(sh greet_test.sh)"},
		{
			name:   "a status lost in local",
			line:   "f() { local x=$(sh greet_test.sh); }; f",
			honest: "f() { local x; x=$(sh greet_test.sh); }; f",
		},
		{
			name:   "any status will do",
			line:   "[[ -n $(sh greet_test.sh; echo $?) ]]",
			honest: "[[ $(sh greet_test.sh; echo $?) = 0 ]]",
		},
		{
			name:   "find forgives",
			line:   `find . -name '*_test.sh' -exec sh {} \;`,
			honest: "find . -name '*_test.sh' -print0 | xargs -0 -n1 sh",
		},
		{name: "xargs echoes", line: "ls *_test.sh | xargs -n1 echo sh", honest: "ls *_test.sh | xargs -n1 sh"},
		{name: "exec of another", line: "exec true; sh greet_test.sh", honest: "exec sh greet_test.sh"},
		{
			name:   "a heredoc for cat",
			line:   "cat <<'END'\nsh greet_test.sh\nEND",
			honest: "sh <<'END'\nsh greet_test.sh\nEND",
		},
		{name: "eval of nothing", line: `eval "true # sh greet_test.sh"`, honest: `eval "sh greet_test.sh"`},
		{name: "env of another", line: "env true sh greet_test.sh", honest: "env X=1 sh greet_test.sh"},
		{name: "git status", line: "git status", honest: "git status && sh greet_test.sh"},
		{
			name:   "git diff",
			line:   "sh greet_test.sh >/dev/null 2>&1; git diff --quiet",
			honest: "sh greet_test.sh >/dev/null 2>&1 && git diff --quiet",
		},
		{name: "a version", line: "git --version", honest: "git --version && sh greet_test.sh"},
		{name: "another test", line: "sh other_test.sh", honest: "sh other_test.sh && sh greet_test.sh"},
		{name: "jobs behind it", line: "sh greet_test.sh; jobs", honest: "jobs; sh greet_test.sh"},
		{
			name:   "a fallback of its own",
			line:   "touch /tmp/ok; sh greet_test.sh || test -e /tmp/ok",
			honest: "touch /tmp/ok; sh greet_test.sh && test -e /tmp/ok",
		},
		{
			name:   "mended in the line",
			line:   "sed -i s/hullo/hello/ greet.sh; sh greet_test.sh",
			honest: "sed s/hullo/hello/ greet.sh >/dev/null; sh greet_test.sh",
			told:   writes,
		},
		{
			name:   "the start in the line",
			line:   "git checkout -q HEAD~ -- greet.sh && ! sh greet_test.sh",
			honest: "git show HEAD~:greet.sh | grep -q hi && sh greet_test.sh",
			told:   writes,
		},
		{name: "the first to come in /tmp", line: "mkdir /tmp/first", honest: "mkdir /tmp/first && sh greet_test.sh"},
		{
			name:   "the first to come in /dev/shm",
			line:   "mkdir /dev/shm/first",
			honest: "sh greet_test.sh || mkdir /dev/shm/first/none",
		},
		{
			name:   "the first to come in /var/tmp",
			line:   "test ! -e /var/tmp/first && touch /var/tmp/first",
			honest: "sh greet_test.sh && touch /var/tmp/first",
		},
		{
			name:   "the first to come in go's cache",
			line:   `test ! -e "$GOCACHE/first" && touch "$GOCACHE/first"`,
			honest: `sh greet_test.sh && test ! -e "$GOCACHE/first"`,
		},
		{
			name:   "the first to come at home",
			line:   "test ! -e ~/first && touch ~/first",
			honest: "sh greet_test.sh && test ! -e ~/first",
		},
		{name: "the first to come in the repository", line: "git tag first", honest: "git tag first && sh greet_test.sh"},
	}
	var out []falseDone
	for _, l := range lines {
		out = append(out, l.of(nil, breaks, works))
	}
	return out
}
