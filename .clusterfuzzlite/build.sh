#!/usr/bin/env bash
# Builds every fuzz target into $OUT as OSS-Fuzz and ClusterFuzzLite want them: the executable, its seed corpus as an archive,
# its dictionary and its options. On the CPU backend: the engine's machines have no CUDA toolkit.
set -euo pipefail
cd "$SRC/snuffer"

# A finding that is known is stepped over: the engine shall report what is new.
mkdir -p "$OUT/regressions"
cp corpora/regressions/*.toml "$OUT/regressions/"

for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  wrapper= folder=fuzz/target/readers
  case $target in
    forward | backward | program)
      # Of these, candle is what coverage guides through.
      wrapper=$PWD/fuzz/rustc.sh folder=fuzz/target/cases
      cp corpora/cases.dict "$OUT/$target.dict"
      printf '[libfuzzer]\nmax_len = 8192\ntimeout = 5\n' > "$OUT/$target.options"
      ;;
  esac
  RUSTC_WRAPPER=$wrapper cargo fuzz build --release --debug-assertions --sanitizer "${SANITIZER:-address}" \
    --features abort --target-dir "$folder" "$target"
  cp "$folder/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  if [ -d "corpora/$target" ]; then
    (cd "corpora/$target" && python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" ./*)
  fi
done
