#!/bin/sh
# Installs the pinned real agent programs that tests run against.
#
#   tools/install-agents.sh            into <repository>/.agents, or $SM_AGENTS_DIR
#   tools/install-agents.sh --check    says whether they are there, installs nothing
#
# Exit codes: 0 both are there; 2 usage; 3 node or npm missing; 4 npm could not install;
# 5 installed, but a program does not run here; 6 (--check) not installed.
# Nothing outside that folder is written, apart from npm's own cache.
set -eu

CLAUDE_VERSION=2.1.197
CODEX_VERSION=0.166.0

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
dir=${SM_AGENTS_DIR:-$root/.agents}
stamp=$dir/installed
wanted="claude $CLAUDE_VERSION
codex $CODEX_VERSION"

say() { printf 'install-agents: %s\n' "$*" >&2; }

present() {
    [ -x "$dir/node_modules/.bin/claude" ] && [ -x "$dir/node_modules/.bin/codex" ] &&
        [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]
}

case "${1:-}" in
    '') ;;
    --check)
        if present; then exit 0; fi
        say "not installed in $dir (run tools/install-agents.sh)"
        exit 6
        ;;
    *)
        say "usage: tools/install-agents.sh [--check]"
        exit 2
        ;;
esac

if present; then exit 0; fi

missing=
command -v node >/dev/null 2>&1 || missing="node (18 or newer)"
command -v npm >/dev/null 2>&1 || missing="${missing:+$missing and }npm"
if [ -n "$missing" ]; then
    say "missing: $missing"
    say "install it (https://nodejs.org), then run this again"
    exit 3
fi

# Built beside the final place and moved in one step, so that a broken download or two runs at
# once never leave half an installation behind.
mkdir -p "$dir"
new=$dir/.new.$$
trap 'rm -rf "$new"' EXIT
trap 'exit 130' INT TERM
mkdir "$new"
printf '{"private":true}\n' >"$new/package.json"

# Install scripts are never needed: some npm versions refuse them, and the one step that Claude
# Code's script does (putting the native program in place) is done below by hand.
say "installing claude-code $CLAUDE_VERSION and codex $CODEX_VERSION into $dir"
if ! npm install --prefix "$new" --ignore-scripts --include=optional --no-audit --no-fund \
    --no-update-notifier --loglevel=error --save-exact \
    "@anthropic-ai/claude-code@$CLAUDE_VERSION" "@openai/codex@$CODEX_VERSION" >&2; then
    say "npm could not install them: is the registry $(npm config get registry 2>/dev/null) reachable?"
    exit 4
fi
(cd "$new/node_modules/@anthropic-ai/claude-code" && node install.cjs >&2) || true

# A fresh home, so that asking for the version leaves nothing in the real one.
mkdir "$new/home"
check() {
    version=$(HOME=$new/home DISABLE_AUTOUPDATER=1 "$new/node_modules/.bin/$1" --version 2>"$new/stderr") || {
        say "$1 does not run here:"
        cat "$new/stderr" >&2
        exit 5
    }
    case "$version" in
        *"$2"*) ;;
        *)
            say "$1 says it is '$version', not $2"
            exit 5
            ;;
    esac
}
check claude "$CLAUDE_VERSION"
check codex "$CODEX_VERSION"

rm -f "$stamp"
rm -rf "$dir/node_modules"
mv "$new/node_modules" "$dir/node_modules"
mv "$new/package.json" "$new/package-lock.json" "$dir/"
printf '%s\n' "$wanted" >"$stamp"
say "done"
