#!/bin/sh
# Makes home.tar.gz: a home and its repositories as the program of a commit
# leaves them. That commit's own script tests play make.txtar, so nothing of a
# later program has touched what comes out. It needs git, Go and a C compiler.
#
#	make.sh [OUT]
#
# OUT is home.tar.gz beside this script when it is left out.
set -eu

commit=65ab1f168e01d4e10b6399cc49dae41f13606a23

here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/home.tar.gz}
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

mkdir "$temp/source" "$temp/run"
git -C "$here/../../../.." archive "$commit" | tar -xC "$temp/source"
{
	cat "$here/make.txtar"
	echo "-- run.toml --"
	cat "$here/run.toml"
} >"$temp/source/cmd/plan/testdata/script/home.txtar"

cd "$temp/source/cmd/plan"
TMPDIR=$temp/run go test -tags sqlite_fts5 -count=1 -v -run '^TestScripts$/^home$' -testwork .

# The path in all these files, which the test changes to where it unpacks them.
cd "$temp"/run/go-test-script*/script-home
printf %s "$PWD" >root
rm -r greet nothing repo
tar -c --sort=name --owner=0 --group=0 --numeric-owner root */ | gzip -9n >"$out"
