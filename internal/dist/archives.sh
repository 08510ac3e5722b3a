#!/usr/bin/env bash
# archives.sh DIR: an archive of plan for each kind of Linux machine that a C compiler is
# here for, with the manual and what shells complete, and their sums, in DIR. A commit
# gives the same bytes each time. The programs need no library of the machine they run on.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-bin/dist}
made=$(git log -1 --format=%ct)
rm -rf "$out"
mkdir -p "$out"

build() { # ARCH CC FILE
  CGO_ENABLED=1 GOOS=linux GOARCH=$1 CC=$2 go build -buildvcs=true -trimpath -o "$3" \
    -tags 'sqlite_fts5 sqlite_omit_load_extension netgo osusergo' \
    -ldflags '-s -w -linkmode external -extldflags -static' ./cmd/plan
}

compiler() { # ARCH
  if [ "$1" = "$(go env GOHOSTARCH)" ]; then
    go env CC
  elif [ "$1" = arm64 ]; then
    echo aarch64-linux-gnu-gcc
  else
    echo x86_64-linux-gnu-gcc
  fi
}

here=$out/here
build "$(go env GOHOSTARCH)" "$(go env CC)" "$here"
version=$("$here" version | cut -d' ' -f2)
if [ "$version" = devel ]; then
  echo "the program does not know its commit: make archives in a clone, not in a linked work tree" >&2
  exit 1
fi
share=$out/share
mkdir -p "$share"/{bash-completion/completions,zsh/site-functions,fish/vendor_completions.d,doc/plan}
"$here" __man "$share/man/man1"
"$here" completion bash >"$share/bash-completion/completions/plan"
"$here" completion zsh >"$share/zsh/site-functions/_plan"
"$here" completion fish >"$share/fish/vendor_completions.d/plan.fish"
cp README.md CHANGELOG.md LICENSE "$share/doc/plan/"

for arch in amd64 arm64; do
  cc=$(compiler $arch)
  if ! command -v "$cc" >/dev/null; then
    echo "no archive for $arch: there is no $cc" >&2
    continue
  fi
  name=plan-$version-linux-$arch
  mkdir -p "$out/$name/bin"
  cp -r "$share" "$out/$name/share"
  if [ "$arch" = "$(go env GOHOSTARCH)" ]; then
    cp "$here" "$out/$name/bin/plan"
  else
    build $arch "$cc" "$out/$name/bin/plan"
  fi
  tar -C "$out" --sort=name --owner=0 --group=0 --numeric-owner --mode=u+rw,go+r-w --mtime="@$made" -cf - "$name" |
    gzip -9n >"$out/$name.tar.gz"
  rm -rf "${out:?}/$name"
done
rm -rf "$here" "$share"
(cd "$out" && sha256sum ./*.tar.gz | sed 's|\./||' | tee SHA256SUMS)
