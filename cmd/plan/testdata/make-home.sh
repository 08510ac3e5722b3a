#!/bin/sh
# Makes HOME/home.tar.gz: a home and its repositories as the program of a commit,
# which HOME/commit names, leaves them. That commit's own script tests play
# HOME/make.txtar, so nothing of a later program has touched what comes out. It needs
# git, Go and a C compiler.
#
#	make-home.sh HOME [OUT]
#
# HOME is a folder beside this script, such as home-1, and OUT is HOME/home.tar.gz when
# it is left out.
set -eu

testdata=$(cd "$(dirname "$0")" && pwd)
here=$testdata/${1:?name a home, such as home-1}
out=${2:-$here/home.tar.gz}
commit=$(cat "$here/commit")
temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT

mkdir "$temp/source" "$temp/run"
git -C "$testdata/../../.." archive "$commit" | tar -xC "$temp/source"
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
