#!/bin/sh
# Makes sure that the named programs are here: installs them where that is possible without asking
# (root on Debian or Ubuntu), otherwise says exactly what to run.
set -u
missing=""
for need in "$@"; do
    case $need in
        cc) command -v cc >/dev/null 2>&1 || missing="$missing build-essential" ;;
        *) command -v "$need" >/dev/null 2>&1 || missing="$missing $need" ;;
    esac
done
command -v cargo >/dev/null 2>&1 || {
    echo "Rust is missing: install it from https://rustup.rs, then run this again." >&2
    exit 1
}
[ -z "$missing" ] && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "installing:$missing"
    apt-get update -qq >/dev/null 2>&1
    # shellcheck disable=SC2086
    if DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $missing >/dev/null 2>&1; then
        exit 0
    fi
fi
if [ "$(uname)" = Darwin ]; then
    echo "Missing:$missing. Install with: brew install$missing" >&2
else
    echo "Missing:$missing. Install with: sudo apt-get install -y$missing" >&2
fi
exit 1
