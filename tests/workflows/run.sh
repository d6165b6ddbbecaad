#!/usr/bin/env bash
# Checks the workflows and the actions against GitHub's schemas. With `--end-to-end`, runs those for candle's repository, too: each
# builds a worker for another candle, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/../.."

tools=${CARGO_TARGET_DIR:-target}/workflows/tools
if [ ! -x "$tools/bin/check-jsonschema" ]; then
  python3 -m pip install --quiet --no-input --disable-pip-version-check --target "$tools" check-jsonschema==0.39.0
fi
export PYTHONPATH=$PWD/$tools PYTHONDONTWRITEBYTECODE=1
"$tools/bin/check-jsonschema" --builtin-schema vendor.github-workflows .github/workflows/*.yml docs/workflows/*.yml
"$tools/bin/check-jsonschema" --builtin-schema vendor.github-actions action.yml cargo-snuffer/action.yml

[ "${1:-}" = --end-to-end ] || exit 0
# The same place every time, so that workers are built once for it.
folder=${CARGO_TARGET_DIR:-target}/workflows/run
rm -rf "$folder" && mkdir -p "$folder"
python3 tests/workflows/test.py "$(realpath "$folder")"
