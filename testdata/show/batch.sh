#!/bin/sh
# Proof on foreign code, ten times at once: one change over ten Go modules of
# different sizes, with their own tests before and after. Only the model is
# scripted. Any job that is not approved, and any change that is not there, fails.
#
# Usage: testdata/show/batch.sh [DIR]   the report is left in DIR
# PLAN names the binary; by default bin/plan of this repository.
# The first download needs a module proxy; after it everything is offline.
set -eu
export LC_ALL=C

modules='github.com/cespare/xxhash/v2@v2.3.0 github.com/google/btree@v1.1.3 github.com/google/uuid@v1.6.0
github.com/dustin/go-humanize@v1.0.1 github.com/gorilla/mux@v1.8.1 github.com/hashicorp/golang-lru/v2@v2.0.7
github.com/spf13/pflag@v1.0.10 github.com/google/go-cmp@v0.7.0 github.com/go-chi/chi/v5@v5.2.1 github.com/BurntSushi/toml@v1.5.0'

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
	mkdir -p "$1"
	work=$(cd "$1" && pwd)
	[ -z "$(ls -A "$work")" ] || die "$work is not empty"
else
	work=$(mktemp -d "${TMPDIR:-/tmp}/plan-show.XXXXXX")
fi

unset OPENAI_API_KEY OPENAI_BASE_URL GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export PLAN_HOME="$work/home" PLAN_MODEL=scripted NO_COLOR=1 GOWORK=off GOFLAGS= GOTOOLCHAIN=local
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=Show GIT_AUTHOR_EMAIL=show@example.com GIT_COMMITTER_NAME=Show GIT_COMMITTER_EMAIL=show@example.com

# ---- ten repositories, whose own tests pass

echo "folder   $work"
for module in $modules; do
	path=${module%@*}
	name=$(echo "${path#*/}" | tr / -)
	from=$(cd "$work" && go mod download -json "$module" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
	[ -d "$from" ] || die "go mod download $module gave no folder; is a module proxy in reach?"
	repo=$work/$name
	cp -R "$from" "$repo" && chmod -R u+w "$repo"
	[ -f "$repo/go.mod" ] || printf 'module %s\n\ngo 1.16\n' "$path" >"$repo/go.mod"
	git -C "$repo" init -q -b main && git -C "$repo" add -A -f && git -C "$repo" commit -q -m "$module"
	lines=$(find "$repo" -name '*.go' -print0 | xargs -0 cat | wc -l)
	(cd "$repo" && GOPROXY=off go test ./... >"$work/$name.log" 2>&1) || die "$module does not pass its own tests; see $work/$name.log"
	[ -z "$(git -C "$repo" status --porcelain)" ] || die "the tests of $module change its tree"
	printf 'module   %-44s %6d lines of Go\n' "$module" "$lines"
	echo "$name" >>"$work/repos.txt"
done
export GOPROXY=off

# ---- one change over all of them

mkfifo "$work/hold" "$work/where"
"$plan" __serve "$here/scenario/any.toml" <"$work/hold" >"$work/where" &
server=$!
exec 9>"$work/hold"
trap 'exec 9>&-; wait $server' EXIT
trap 'exit 130' INT TERM HUP
{
	read -r url
	read -r key
} <"$work/where"
export OPENAI_BASE_URL="${url#*=}" OPENAI_API_KEY="${key#*=}"

status=0
"$plan" batch run --repos "$work/repos.txt" --concurrency 2 --check 'go test ./...' \
	--request 'Say any instead of interface{}, and ask for the Go version that this needs.' 9>&- || status=$?
for format in text markdown json junit html; do
	"$plan" batch report --format $format -o "$work/report.$format"
done
cat "$work/report.text"
"$plan" batch export --branches >"$work/branches"

# ---- what came of it, seen with git and go alone

wrong=0
while read -r name; do
	branch=$(git -C "$work/$name" branch --list --format='%(refname:short)' 'plan/*')
	tree=$work/after-$name
	git -C "$work/$name" worktree add -q --detach "$tree" "$branch"
	grep -q '^go 1.21$' "$tree/go.mod" || { echo "show: $name: go.mod is not changed" >&2; wrong=1; }
	left=$(cd "$tree" && find . -name '*.go' -print0 | xargs -0 gofmt -r 'interface{} -> any' -l)
	[ -z "$left" ] || { echo "show: $name: interface{} is left in $left" >&2; wrong=1; }
	(cd "$tree" && go test ./...) >"$work/$name.after" 2>&1 || { echo "show: $name: its tests fail; see $work/$name.after" >&2; wrong=1; }
	[ -z "$(git -C "$work/$name" status --porcelain)" ] || { echo "show: $name: the user's tree was touched" >&2; wrong=1; }
done <"$work/repos.txt"
[ $status -eq 0 ] || die "the batch ended with $status"
[ $wrong -eq 0 ] || exit 1
echo "all ten changed, and their tests pass; see $work/report.html"
