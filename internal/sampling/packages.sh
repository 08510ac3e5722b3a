#!/usr/bin/env bash
# packages.sh raced|others: lists the packages that are tested with the race
# detector, or all others.
#
# Raced is what starts goroutines, in its code or its tests: what is handed a way to
# start them is raced where that comes from (host). So are engine and phases, which start
# one goroutine each: runs of host come through both. cmd/plan starts one program as a
# process again and again, and sandbox a wall of its own binary, which takes five times
# as long to start with the detector. make soak races all four.
set -euo pipefail
starts='^[[:space:]]*go [A-Za-z][A-Za-z.]*\(|\.Go\('
go list -tags sqlite_fts5 -f '{{.ImportPath}} {{.Dir}}' ./... | while read -r name dir; do
	kind=others
	case $name in
	*/cmd/plan | */sandbox | */plan/engine | */plan/phases) ;;
	*) if grep -qE "$starts" "$dir"/*.go; then kind=raced; fi ;;
	esac
	if [ "$kind" = "$1" ]; then echo "$name"; fi
done
