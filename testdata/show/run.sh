#!/bin/sh
# Proof on foreign code: runs plan on an old release of a well-known Go module
# with a real bug that a later release mended, once for every way that a run
# can go. Only the model is scripted. Each run's event stream is checked, and
# so are the tree, the journal and the exit code; any deviation fails.
#
# Usage: testdata/show/run.sh [DIR]   what is left to look at goes to DIR
# PLAN names the binary; by default bin/plan of this repository.
# The first download needs a module proxy; after it everything is offline.
set -u
export LC_ALL=C

module=github.com/dustin/go-humanize
old=v1.0.0
new=v1.0.1 # "There was a report that zeroes were being truncated incorrectly"
request='humanize.SIWithDigits(200e6, 0, "B") returns "2 MB" instead of "200 MB", and FtoaWithDigits(20, 0) returns "2". Whole numbers must keep their zeros.'

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
plan=${PLAN:-$root/bin/plan}
case $plan in /*) ;; *) plan=$PWD/$plan ;; esac

die() {
	echo "show: $*" >&2
	exit 1
}

[ -x "$plan" ] || die "there is no $plan; build it with make build, or name one with PLAN="
if [ $# -gt 0 ]; then
	work=$1
	mkdir -p "$work" || exit 1
	work=$(cd "$work" && pwd)
	[ -z "$(ls -A "$work")" ] || die "$work is not empty"
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/plan-show.XXXXXX") || exit 1
fi

# The model server ends when nobody holds the other end of its input.
server=
stop_server() {
	[ -n "$server" ] || return 0
	exec 9>&-
	wait "$server" || echo "show: the model server ended with $?" >&2
	server=
}
trap 'exec 9>&-' EXIT
trap 'exit 130' INT TERM HUP

# ---- the world: git without the user's settings, one home a scenario

unset OPENAI_API_KEY OPENAI_BASE_URL PLAN_HOME GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export PLAN_MODEL=scripted NO_COLOR=1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Show GIT_AUTHOR_EMAIL=show@example.com
export GIT_COMMITTER_NAME=Show GIT_COMMITTER_EMAIL=show@example.com

(cd "$root" && go build -o "$work/check" ./testdata/show/check) || die "the checker does not build"

# fetch VERSION DIR: a writable copy of that release of the module.
fetch() {
	from=$(cd "$work" && GOWORK=off GOFLAGS= go mod download -json "$module@$1" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
	[ -d "$from" ] || die "go mod download $module@$1 gave no folder; is a module proxy in reach?"
	cp -R "$from" "$2" && chmod -R u+w "$2" || exit 1
	# v1.0.0 is older than go.mod files.
	[ -f "$2/go.mod" ] || printf 'module %s\n\ngo 1.16\n' "$module" >"$2/go.mod"
}
fetch $old "$work/old"
fetch $new "$work/new"
export GOPROXY=off GOFLAGS=

# later_tests DIR: do the tests that the later release brought for this bug
# pass on the code in DIR?
later_tests() {
	rm -rf "$work/later"
	cp -R "$1" "$work/later"
	cp "$work/new/ftoa_test.go" "$work/new/si_test.go" "$work/later"
	(cd "$work/later" && go test -count=1 -run 'TestBug106|TestFtoaWithDigits' .) >"$work/later.log" 2>&1
}

echo "module   $module $old, mended in $new"
echo "plan     $plan"
echo "folder   $work"
(cd "$work/old" && go test ./...) >"$work/old.log" 2>&1 || die "$old does not pass its own tests; see $work/old.log"
later_tests "$work/old" && die "the bug is not in $old: the tests of $new pass on it"
sed -n 's/^[[:space:]]*\(.*_test.go:.*\)$/  before: \1/p' "$work/later.log"
later_tests "$work/new" || die "the bug is in $new: its own tests fail; see $work/later.log"

# ---- one scenario

failures=0
name='' dir='' repo='' id='' expected='' code='' events='' balanced='' wrong=''

# begin NAME FILE…: a fresh repository and home, and a model that says what
# these scenario files say.
begin() {
	stop_server
	name=$1 wrong=
	shift
	dir=$work/$name
	repo=$dir/repo
	mkdir "$dir" && cp -R "$work/old" "$repo" || exit 1
	{ git -C "$repo" init -q -b main && git -C "$repo" add -A && git -C "$repo" commit -q -m "$module $old"; } || die "no commit in $repo"
	export PLAN_HOME="$dir/home"
	for file in "$@"; do
		set -- "$@" "$here/scenario/$file.toml"
		shift
	done
	mkfifo "$dir/hold" "$dir/where" || exit 1
	"$plan" __serve "$@" <"$dir/hold" >"$dir/where" &
	server=$!
	exec 9>"$dir/hold"
	{
		read -r url
		read -r key
	} <"$dir/where"
	case $url in OPENAI_BASE_URL=*) ;; *) die "the model server for $name did not start" ;; esac
	export OPENAI_BASE_URL="${url#*=}" OPENAI_API_KEY="${key#*=}"
}

# run FLAG…: one run until its process ends, its events in $dir/stream.
run() {
	"$plan" -C "$repo" run --json "$@" "$request" >"$dir/stream" 2>"$dir/stderr" 9>&-
	code=$?
	return $code
}

# resume FLAG…: go on with the run, as a scenario of its own. Its stream is
# the one of the first process and the one of this, end to end.
resume() {
	name=$name-resumed wrong=
	"$plan" resume --json "$@" "$id" >"$dir/resumed" 2>"$dir/stderr" 9>&-
	code=$?
	cat "$dir/resumed" >>"$dir/stream"
}

# holds WHAT CMD…: the command succeeds.
holds() {
	what=$1
	shift
	"$@" >/dev/null 2>&1 || wrong="$wrong
    not so: $what"
}

# not WHAT CMD…: the command fails.
not() {
	what=$1
	shift
	"$@" >/dev/null 2>&1 && wrong="$wrong
    not so: $what"
}

# says PATTERN and silent PATTERN: some event, or none, has this text.
says() { holds "an event with $1" grep -Eq "$1" "$dir/stream"; }
silent() { not "no event with $1" grep -Eq "$1" "$dir/stream"; }

# counted N PATTERN: exactly N events have this text.
counted() { holds "$1 events with $2" test "$(grep -Ec "$2" "$dir/stream")" -eq "$1"; }

untouched() { holds "the tree is as it was" test -z "$(git -C "$repo" status --porcelain)"; }

# end EXPECTED: check the stream and print the scenario's row.
end() {
	expected=$1
	[ "$code" = "$expected" ] || wrong="$wrong
    exit code $code, want $expected; see $dir/stderr"
	balanced=yes
	"$work/check" -exit "$code" <"$dir/stream" >"$dir/counts" 2>"$dir/faults" || balanced=NO
	events=$(sed 's/ .*//' "$dir/counts")
	[ $balanced = yes ] || wrong="$wrong
$(sed 's/^/    /' "$dir/faults")"
	# What was shown is what is kept, byte for byte.
	id=$(sed -n '1s/.*"run":"\([^"]*\)".*/\1/p' "$dir/stream")
	"$plan" events "$id" --json >"$dir/journal" 2>>"$dir/stderr"
	grep '^{"v":1,"run":"[^"]*","seq":' "$dir/stream" >"$dir/durable"
	holds "the journal is the stream" cmp "$dir/journal" "$dir/durable"
	[ -z "$wrong" ] || failures=$((failures + 1))
	printf '%-26s %5s %9s %7s  %-9s %s%s\n' "$name" "$code" "$expected" "$events" "$balanced" "$(sed 's/^[^;]*; //' "$dir/counts")" "$wrong"
}

printf '\n%-26s %5s %9s %7s  %-9s %s\n' scenario exit expected events balanced counts

# ---- 1. The bug is mended, end to end

begin fix explore fix approve
run --check 'go vet ./...' --check 'go test ./...'
says '"type":"verdict".*"approved":true'
counted 4 '"type":"check_end".*"exit_code":0'
says '"name":"bash","error":true.*On 20, 0, expected .20., but got .2.'
not "the reviewer's test is gone" test -e "$repo/probe_test.go"
holds "the later release's tests pass" later_tests "$repo"
holds "all tests pass" sh -c "cd '$repo' && go vet ./... && go test ./..."
holds "no commit was made" test "$(git -C "$repo" rev-list --count HEAD)" -eq 1
holds "only the three planned files differ" test "$(git -C "$repo" status --porcelain | tr -d '\n')" = ' M ftoa.go M ftoa_test.go M si_test.go'
end 0
"$plan" diff "$id" >"$work/fix.diff" || failures=$((failures + 1))

# ---- 2. The reviewer is never content

begin needs-fix explore lazy gaps
run
counted 3 '"type":"verdict".*"verdict":"NEEDS_FIX","approved":false'
counted 1 '"type":"gap".*"id":"G1".*"status":"opened"'
silent '"type":"gap".*"id":"G2"'
says '"type":"run_end".*"outcome":"exhausted","exit_code":3'
end 3

# ---- 3. What the reviewer says is no verdict

begin malformed explore fix malformed
run --max-review-cycles 0
counted 1 '"phase":"review".*"type":"message_end".*could not be read'
counted 1 '"type":"verdict".*"approved":false'
end 3

begin malformed-once explore fix malformed_once
run --max-review-cycles 0
counted 1 '"phase":"review".*"type":"message_end".*could not be read'
counted 1 '"type":"verdict".*"approved":true'
end 0

# ---- 4. Only a plan

begin plan-only explore
run --plan-only
says '"type":"run_end".*"outcome":"planned","exit_code":0'
silent '"phase":"(implement|review)"'
holds "the plan can be read" sh -c "'$plan' show 0 --plan | grep -q 'leave whole numbers alone'"
untouched
end 0

# ---- 5. DONE, but the evidence does not bear it out

begin never-ran explore fix unproven
run --max-review-cycles 0
silent '"approved":true'
counted 1 '"phase":"review".*"type":"message_end".*Your DONE does not count yet'
says '"type":"verdict".*"verdict":"NEEDS_FIX","approved":false'
end 3

begin ran-but-failed explore fix misquoted
run --max-review-cycles 0
silent '"approved":true'
says '"type":"verdict".*"verdict":"NEEDS_FIX","approved":false'
end 3

# ---- 6. DONE while a check fails that passed before

begin check-broke explore breaking sure
run --max-review-cycles 0
says '"type":"check_end".*"command":"go test ./...","required":false.*"exit_code":0,"baseline":true'
says '"type":"check_end".*"command":"go test ./...","required":false.*"exit_code":1,"baseline":false'
silent '"approved":true'
end 3

begin required-check-broke explore breaking sure
run --max-review-cycles 0 --check 'go test ./...'
says '"type":"check_end".*"command":"go test ./...","required":true.*"exit_code":1,"baseline":false'
silent '"approved":true'
end 3

# ---- 7. The model's server fails

begin unauthorized unauthorized
run
says '"type":"error".*401'
silent '"type":"retry"'
says '"type":"run_end".*"outcome":"failed","exit_code":1'
untouched
end 1
# It is short, so the checker is checked on it: no line can be missed.
line=$(wc -l <"$dir/durable")
while [ "$line" -gt 0 ]; do
	sed "${line}d" "$dir/durable" | "$work/check" -exit 1 >/dev/null 2>&1 && die "the checker does not miss line $line of $dir/durable"
	line=$((line - 1))
done
"$work/check" -exit 3 <"$dir/durable" >/dev/null 2>&1 && die "the checker takes exit code 3 for a failed run"

begin rate-limited busy explore
run --plan-only
counted 1 '"type":"retry".*"wait_ms":1000,"status":429'
end 0

begin rate-limited-long busy_for_long explore fix approve
run
says '"type":"parked","data":\{"reason":"rate_limit","wake_at":"20'
end 5
resume
says '"type":"unparked","data":\{"reason":"rate_limit"'
holds "the later release's tests pass" later_tests "$repo"
end 0

# A model that never answers. While it hangs, another process finds the
# user's message in the database: it was there before the model was asked.
begin hang hang explore fix approve
run --timeout 10s &
runner=$!
until grep -q '"type":"request"' "$dir/stream" 2>/dev/null || ! kill -0 $runner 2>/dev/null; do
	sleep 0.1
done
id=$("$plan" list --json | sed -n 's/^\[{"id":"\([^"]*\)".*/\1/p')
"$plan" events "$id" --json >"$dir/meanwhile" 2>&1
if command -v sqlite3 >/dev/null; then
	sqlite3 -readonly "$PLAN_HOME/plan.db" "select line from events where type = 'message_end' order by seq" >"$dir/sqlite" 2>&1
fi
holds "the run still hangs" kill -0 $runner
wait $runner
code=$?
not "nothing was answered" grep -q '"type":"message_end".*"role":"assistant"' "$dir/meanwhile"
holds "another process reads the user's message" grep -Eq '"type":"message_end".*"role":"user".*SIWithDigits\(200e6' "$dir/meanwhile"
holds "the message came before the request" awk '/"type":"message_end".*"role":"user"/ { said = 1 } /"type":"request"/ { exit !said }' "$dir/meanwhile"
if [ -e "$dir/sqlite" ]; then
	holds "sqlite3 reads the user's message" grep -Eq '"role":"user".*SIWithDigits\(200e6' "$dir/sqlite"
fi
end 5
resume --timeout 0
holds "the later release's tests pass" later_tests "$repo"
end 0

# ---- what came of it

stop_server
printf '\nwhat scenario fix changed:\n\n'
cat "$work/fix.diff"
if [ $failures -gt 0 ]; then
	die "$failures scenarios deviate; look around in $work"
fi
printf '\nall as expected; look around in %s\n' "$work"
