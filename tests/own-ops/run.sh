#!/usr/bin/env bash
# Runs the crates in examples/own-ops, each of which has a planted bug, and demands what expected.txt says of each: on the CPU, or with
# `--sim` on the simulated device, too.
set -euo pipefail
cd "$(dirname "$0")/../.."
target=${CARGO_TARGET_DIR:-$PWD/target}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
[ "${1:-}" != --sim ] || cargo build --quiet --locked --package cargo-snuffer
# With the suite's profile and all features of its dependencies, Cargo finds what it has built for the suite.
shared=(--config "$PWD/Cargo.toml" --features snuffer/cli-dependencies)
# Whether a file has each of some phrases, which ` & ` separates.
says() {
  local phrases
  mapfile -t phrases <<<"${2// & /$'\n'}"
  for phrase in "${phrases[@]}"; do grep --quiet --fixed-strings -e "$phrase" "$1" || return 1; done
}
failed=0
while IFS='|' read -r crate on_cpu on_sim; do
  if [ "${1:-}" = --sim ]; then
    test -n "$on_sim" || continue
    expected=$on_sim
    command=("$target/debug/cargo-snuffer" snuffer test --features cuda)
    own=$target/own-ops
  else
    expected=$on_cpu
    command=(cargo test --locked "${shared[@]}")
    own=$target
  fi
  folder=examples/own-ops/$crate
  rm -rf "$folder/snuffer-regressions"
  (cd "$folder" && SNUFFER_HOME=$target CARGO_TARGET_DIR=$own "${command[@]}") >"$log" 2>&1 && code=0 || code=$?
  rm -rf "$folder/snuffer-regressions"
  if [ "$expected" = passes ]; then [ "$code" = 0 ]; else [ "$code" != 0 ] && says "$log" "$expected"; fi &&
    echo "$crate: $expected" || { echo "$crate: expected \`$expected\`; got (exit code $code):"; cat "$log"; failed=1; }
done <tests/own-ops/expected.txt
exit "$failed"
