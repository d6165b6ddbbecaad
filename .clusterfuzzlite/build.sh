#!/usr/bin/env bash
# Builds every fuzz target into $OUT as OSS-Fuzz and ClusterFuzzLite want them: the executable, its seed corpus as an archive,
# its dictionary and its options. On the CPU backend: the engine's machines have no CUDA toolkit.
#
# What such an engine reports is what ends the process: memory errors in candle, hangs, and failures of this suite itself. With
# FEATURES=abort every new failure of candle does; there are hundreds, and nightly hunts keep them with less ado.
set -euo pipefail
cd "$SRC/snuffer"

# What is known is stepped over, and calls that are known to end their process are not run: the engine shall report what is new.
mkdir -p "$OUT/regressions" "$OUT/fatal"
(cd corpora/regressions && find . -name case.toml -exec cp --parents -t "$OUT/regressions" {} +)
cp corpora/fatal/*.toml "$OUT/fatal/"
if [ "${SANITIZER:-address}" = address ]; then
  cp corpora/fatal/address/*.toml "$OUT/fatal/"
fi

for source in fuzz/fuzz_targets/*.rs; do
  target=$(basename "$source" .rs)
  wrapper= folder=fuzz/target/readers seeds=corpora/$target
  case $target in
    forward | backward | program)
      # Of these, candle is what coverage guides through.
      wrapper=$PWD/fuzz/rustc.sh folder=fuzz/target/cases
      cp corpora/cases.dict "$OUT/$target.dict"
      printf '[libfuzzer]\nmax_len = 8192\ntimeout = 5\n' > "$OUT/$target.options"
      ;;
    case_text) seeds="corpora/forward corpora/backward corpora/program" ;;
    ptx) seeds="simulator/tests/pass simulator/tests/fail" ;;
  esac
  RUSTC_WRAPPER=$wrapper cargo fuzz build --release --debug-assertions --sanitizer "${SANITIZER:-address}" \
    --features "${FEATURES:-}" --target-dir "$folder" "$target"
  cp "$folder/x86_64-unknown-linux-gnu/release/$target" "$OUT/"
  # shellcheck disable=SC2086 # several folders
  python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" $seeds
done
