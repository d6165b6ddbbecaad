#!/usr/bin/env bash
# Builds every fuzz target into $OUT as OSS-Fuzz and ClusterFuzzLite want them: the executable, its seed corpus as an archive,
# its dictionary and its options. On the CPU backend: the engine's machines have no CUDA toolkit.
set -euo pipefail
cd "$SRC/snuffer"

cargo fuzz build --release --debug-assertions --sanitizer "${SANITIZER:-address}"
built=fuzz/target/x86_64-unknown-linux-gnu/release

# A finding that is known is stepped over: the engine shall report what is new.
mkdir -p "$OUT/regressions"
cp corpora/regressions/*.toml "$OUT/regressions/"

for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  cp "$built/$target" "$OUT/"
  if [ -d "corpora/$target" ]; then
    (cd "corpora/$target" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
  fi
  case $target in
    forward | backward | program)
      cp corpora/cases.dict "$OUT/$target.dict"
      # An engine counts what ends the process.
      printf '[libfuzzer]\nmax_len = 8192\ntimeout = 10\n\n[env]\nSNUFFER_FUZZ_ABORT = 1\n' > "$OUT/$target.options"
      ;;
  esac
done
