#!/usr/bin/env bash
# Runs a short hunt, makes a site of its findings, and checks the site in a browser. Installs the browser if it may. Without a
# browser it fails, or ends with 77 if SNUFFER_TEST_WITHOUT names chromium.
set -euo pipefail
cd "$(dirname "$0")/../.."

python=/usr/bin/python3 # Debian's own Python, which has Debian's Selenium
ready() {
  command -v chromium chromedriver >/dev/null && "$python" -c 'import selenium' 2>/dev/null &&
    timeout 60 chromium --headless --no-sandbox --disable-gpu --dump-dom about:blank >/dev/null 2>&1
}
if ! ready && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  apt-get install --yes --no-install-recommends chromium chromium-driver python3-selenium >/dev/null 2>&1 ||
    { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver python3-selenium; } >/dev/null 2>&1 || true
fi
if ! ready; then
  echo "not run: the site in a browser; install it (Debian: chromium chromium-driver python3-selenium), or leave it out with SNUFFER_TEST_WITHOUT=chromium"
  case ",${SNUFFER_TEST_WITHOUT:-}," in
  *,chromium,*) exit 77 ;;
  *) exit 1 ;;
  esac
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
snuffer=${CARGO_TARGET_DIR:-target}/debug/snuffer
"$snuffer" hunt --cases 3000 --seed 1 --minimize 1s --store "$folder/store" >"$folder/hunt" || test $? -eq 2
"$snuffer" site --store "$folder/store" --into "$folder/site"
"$python" tests/site/browser.py "$folder/site" "$folder/shots"
