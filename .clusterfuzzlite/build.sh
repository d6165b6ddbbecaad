#!/usr/bin/env bash
# Builds all fuzz targets into $OUT for OSS-Fuzz and ClusterFuzzLite: each with its executable, seed corpus, dictionary and
# options. Only for the CPU backend: the machines of these engines have no CUDA toolkit.
#
# These engines only report inputs that end the process: memory errors in candle, hangs, and failures of this suite. With
# FEATURES=abort, every new failure of candle ends the process. There are hundreds; nightly hunts keep them more easily.
set -euo pipefail
cd "$SRC/snuffer"

# Known findings are skipped and calls known to be fatal are not run, so that the engine only reports new failures.
mkdir -p "$OUT/fatal"
cp -r corpora/regressions "$OUT/"
cp corpora/fatal/*.toml "$OUT/fatal/"
if [ "${SANITIZER:-address}" = address ]; then
  cp corpora/fatal/address/*.toml "$OUT/fatal/"
fi

for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  wrapper= folder=fuzz/target/readers seeds=fuzz/target/seeds/$target
  case $target in
    forward | backward | program)
      # Only the coverage of candle guides these targets.
      wrapper=$PWD/fuzz/rustc.sh folder=fuzz/target/cases
      cp corpora/cases.dict "$OUT/$target.dict"
      printf '[libfuzzer]\nmax_len = 8192\ntimeout = 5\n' > "$OUT/$target.options"
      ;;
    protocol) seeds=corpora/protocol ;;
    ptx) seeds="simulator/tests/pass simulator/tests/fail" ;;
    store | safetensors) seeds=corpora/foreign/$target ;;
    reports | fat_binary) seeds=simulator/tests/fail ;;
  esac
  RUSTC_WRAPPER=$wrapper cargo fuzz build --release --debug-assertions --sanitizer "${SANITIZER:-address}" \
    --features "${FEATURES:-}" --target-dir "$folder" "$target"
  cp "$folder/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  # The targets that read cases draw their seeds; the others have none to draw.
  case $target in
    forward | backward | program | case_text) ASAN_OPTIONS=detect_leaks=0 SNUFFER_FUZZ_SEEDS=$seeds "$OUT/$target" ;;
  esac
  # shellcheck disable=SC2086 # several folders
  python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" $seeds
done
