#!/bin/sh
# Installs the pinned real agent programs that tests run against.
#
#   tools/install-agents.sh            into <repository>/.agents, or $SM_AGENTS_DIR
#   tools/install-agents.sh --check    says whether they are there, installs nothing
#
# Exit codes: 0 all are there; 2 usage; 3 node or npm missing; 4 npm could not install;
# 5 installed, but a program does not run here; 6 (--check) not installed.
# Nothing outside that folder is written, apart from npm's own cache.
set -eu

CLAUDE_VERSION=2.1.197
CLAUDE_NEWEST_VERSION=2.1.328
CODEX_VERSION=0.169.0
PI_VERSION=0.73.1

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

# pi has a folder and a stamp of its own: it comes and goes without touching the others.
pi_present() {
    [ -x "$dir/pi/node_modules/.bin/pi" ] &&
        [ -f "$dir/pi/installed" ] && [ "$(cat "$dir/pi/installed")" = "pi $PI_VERSION" ]
}

# The newest Claude Code that was tried has its own folder, too.
newest_present() {
    [ -x "$dir/newest/node_modules/.bin/claude" ] && [ -f "$dir/newest/installed" ] &&
        [ "$(cat "$dir/newest/installed")" = "claude $CLAUDE_NEWEST_VERSION" ]
}

case "${1:-}" in
    '') ;;
    --check)
        if present && pi_present && newest_present; then exit 0; fi
        say "not installed in $dir (run tools/install-agents.sh)"
        exit 6
        ;;
    *)
        say "usage: tools/install-agents.sh [--check]"
        exit 2
        ;;
esac

if present && pi_present && newest_present; then exit 0; fi

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

# npm_install FOLDER PACKAGE@VERSION…
# Install scripts are never needed: some npm versions refuse them, and the one step that Claude
# Code's script does (putting the native program in place) is done below by hand.
npm_install() {
    prefix=$1
    shift
    say "installing $* into $dir"
    mkdir "$prefix"
    printf '{"private":true}\n' >"$prefix/package.json"
    if ! npm install --prefix "$prefix" --ignore-scripts --include=optional --no-audit --no-fund \
        --no-update-notifier --loglevel=error --save-exact "$@" >&2; then
        say "npm could not install them: is the registry $(npm config get registry 2>/dev/null) reachable?"
        exit 4
    fi
}

# place_claude FOLDER
place_claude() {
    (cd "$1/node_modules/@anthropic-ai/claude-code" && node install.cjs >&2) || true
}

# A fresh home, so that asking for the version leaves nothing in the real one.
mkdir "$new/home"
# check FOLDER PROGRAM VERSION
check() {
    # pi says its version on stderr.
    version=$(HOME=$new/home DISABLE_AUTOUPDATER=1 PI_OFFLINE=1 \
        "$1/node_modules/.bin/$2" --version 2>&1) || {
        say "$2 does not run here: $version"
        exit 5
    }
    case "$version" in
        *"$3"*) ;;
        *)
            say "$2 says it is '$version', not $3"
            exit 5
            ;;
    esac
}

if ! present; then
    npm_install "$new/first" "@anthropic-ai/claude-code@$CLAUDE_VERSION" "@openai/codex@$CODEX_VERSION"
    place_claude "$new/first"
    check "$new/first" claude "$CLAUDE_VERSION"
    check "$new/first" codex "$CODEX_VERSION"
    rm -f "$stamp"
    rm -rf "$dir/node_modules"
    mv "$new/first/node_modules" "$dir/node_modules"
    mv "$new/first/package.json" "$new/first/package-lock.json" "$dir/"
    printf '%s\n' "$wanted" >"$stamp"
fi

if ! pi_present; then
    npm_install "$new/pi" "@mariozechner/pi-coding-agent@$PI_VERSION"
    check "$new/pi" pi "$PI_VERSION"
    printf 'pi %s\n' "$PI_VERSION" >"$new/pi/installed"
    rm -rf "$dir/pi"
    mv "$new/pi" "$dir/pi"
fi
if ! newest_present; then
    npm_install "$new/newest" "@anthropic-ai/claude-code@$CLAUDE_NEWEST_VERSION"
    place_claude "$new/newest"
    check "$new/newest" claude "$CLAUDE_NEWEST_VERSION"
    printf 'claude %s\n' "$CLAUDE_NEWEST_VERSION" >"$new/newest/installed"
    rm -rf "$dir/newest"
    mv "$new/newest" "$dir/newest"
fi
say "done"
