#!/bin/sh
# The dashboard's own checks: types, unit tests, and that the committed output is what the sources build.
set -eu
cd "$(dirname "$0")/../web"
if [ ! -d node_modules/vite ]; then
    echo "SKIPPED web: its packages are not installed (run tools/install-browser.sh)"
    exit 0
fi
node_modules/.bin/tsc --noEmit
node_modules/.bin/vitest run --reporter=dot
built=$(mktemp -d)
trap 'rm -rf "$built"' EXIT
node_modules/.bin/vite build --logLevel=error --outDir "$built" --emptyOutDir
node tools/pack.mjs "$built"
if ! diff -rq dist "$built"; then
    echo "web/dist is not what web/ builds: run \`make web\` and commit it" >&2
    exit 1
fi
