#!/usr/bin/env bash
# inmemory.sh COMMAND…: runs a command whose temporary files are in memory, where this
# process may mount a file system that is its own, and there is room for it.
#
# A test run makes and deletes some hundred thousand small files, and a disk's
# filesystem takes a fifth of its time for that. It is no use to put them where a
# machine has such a file system by itself: walls hide /dev/shm.
set -euo pipefail
room=$((10 << 20)) # KiB; half of it is for the test programs that go links
free=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo 2>/dev/null) || free=0
mounted='mount -t tmpfs -o mode=1777 plan-test "$0"'
dir=$(mktemp -d)
trap 'rmdir "$dir"' EXIT
if [ "${free:-0}" -lt "$room" ] || [ "$(id -u)" != 0 ] || ! unshare -m bash -c "$mounted" "$dir" 2>/dev/null; then
	"$@"
	exit
fi
TMPDIR=$dir unshare -m bash -c "$mounted && exec \"\$@\"" "$dir" "$@"
