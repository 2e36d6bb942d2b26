#!/bin/sh
# Installs what the dashboard's checks need: the packages of web/ from npm, and Chromium from Debian's
# packages if this is root's machine; otherwise says what to install. Exit 0 whatever is missing: the
# tests name what they skip.
set -eu
cd "$(dirname "$0")/.."
say() { printf 'install-browser: %s\n' "$*" >&2; }

if ! command -v npm >/dev/null 2>&1; then
    say "npm is missing: the checks of the dashboard are skipped (install node 20 or newer)"
    exit 0
fi
stamp=web/node_modules/.installed
wanted=$(cksum <web/package-lock.json)
if [ ! -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    # Not `npm ci`: where a registry lacks the packages of other platforms, it refuses the lock file.
    # The versions are the lock file's all the same, and it is not written.
    if (cd web && npm install --no-save --include=optional --no-audit --no-fund --loglevel=error); then
        printf '%s' "$wanted" >"$stamp"
    else
        say "the packages of web/ could not be installed: the checks of the dashboard are skipped"
        exit 0
    fi
fi
for name in chromium chromium-browser google-chrome; do
    if command -v "$name" >/dev/null 2>&1; then exit 0; fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    say "installing chromium (Debian's package)"
    if DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; then exit 0; fi
    apt-get update >/dev/null 2>&1 || true
    if DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium >/dev/null 2>&1; then exit 0; fi
fi
say "no Chromium here: the browser tests are skipped (sudo apt-get install chromium)"
