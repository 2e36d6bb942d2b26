#!/usr/bin/env bash
# The shell library that used the channel files before, recreated from its description: the same
# files, formats and functions, with bash and jq. To be sourced, or called: handoff-manifest.sh FUNCTION ARGS…
CLAUDE_DIR="${CLAUDE_DIR:-$HOME/.claude}"
HANDOFF_DIR="$CLAUDE_DIR/handoff"
SESSION_FILE="$CLAUDE_DIR/.current-session"
EXPIRY_SECONDS=7200

_log() { echo "handoff-manifest: $*" >&2; }
_manifest() { echo "$HANDOFF_DIR/${1:-global}.manifest.json"; }
_current() { echo "$HANDOFF_DIR/${1:-global}-CURRENT.md"; }

_lock() {
    local dir="$HANDOFF_DIR/${1:-global}.lock.d" tries=0 owner
    mkdir -p "$HANDOFF_DIR/archive"
    until mkdir "$dir" 2>/dev/null; do
        owner=$(cut -d: -f1 "$dir/pid" 2>/dev/null)
        if [ -n "$owner" ] && ! kill -0 "$owner" 2>/dev/null; then
            rm -rf "$dir"
            continue
        fi
        tries=$((tries + 1))
        [ "$tries" -lt 2000 ] || { _log "no lock"; return 1; }
        sleep 0.01
    done
    echo "$$:$(date +%s)" >"$dir/pid"
}
_unlock() { rm -rf "$HANDOFF_DIR/${1:-global}.lock.d"; }

get_current_session_id() {
    [ -f "$SESSION_FILE" ] || return 1
    cut -d: -f1 "$SESSION_FILE"
}
get_current_transcript_path() {
    [ -f "$SESSION_FILE" ] || return 1
    cut -d: -f2- "$SESSION_FILE"
}
generate_handoff_id() {
    local session="${1:-$(get_current_session_id)}"
    session=$(echo "${session:-unknown}" | tr -cd 'A-Za-z0-9' | cut -c1-8)
    echo "HO-$(date -u +%Y%m%d-%H%M%S)-${session:-unknown}"
}
read_manifest() {
    local file; file=$(_manifest "$1")
    if [ -f "$file" ]; then cat "$file"; else echo '{}'; fi
}
write_manifest() {
    local file tmp; file=$(_manifest "$1"); tmp="$file.tmp.$$"
    mkdir -p "$HANDOFF_DIR"
    echo "$2" | jq . >"$tmp" || { rm -f "$tmp"; return 1; }
    mv "$tmp" "$file"
}
create_handoff() {
    local channel="${1:-global}" content="$2" type="${3:-manual}" session id now
    session=$(get_current_session_id || echo unknown)
    id=$(generate_handoff_id "$session")
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    _lock "$channel" || return 1
    cat >"$(_current "$channel")" <<EOF
<!-- HANDOFF-ID: $id -->
<!-- SESSION: $session -->
<!-- CHANNEL: $channel -->
<!-- CREATED: $now -->
<!-- TYPE: $type -->
<!-- WORKING-DIR: $PWD -->

$content
EOF
    write_manifest "$channel" "$(jq -n --arg channel "$channel" --arg id "$id" --arg session "$session" \
        --arg now "$now" --argjson pid "$$" --arg dir "$PWD" --arg type "$type" \
        '{channel: $channel, current: {id: $id, session_id: $session, created_at: $now, created_by_pid: $pid, working_dir: $dir, type: $type, status: "active"}}')"
    _unlock "$channel"
    echo "$id"
}
_set() { write_manifest "$1" "$(read_manifest "$1" | jq "$2")"; }
load_handoff() {
    local channel="${1:-global}" pid="${2:-$$}" manifest status id created file found age now
    _lock "$channel" || return 1
    manifest=$(read_manifest "$channel")
    status=$(echo "$manifest" | jq -r '.current.status // empty')
    id=$(echo "$manifest" | jq -r '.current.id // empty')
    created=$(echo "$manifest" | jq -r '.current.created_at // empty')
    file=$(_current "$channel")
    if [ "$status" != active ]; then _unlock "$channel"; return 1; fi
    age=$(($(date +%s) - $(date -d "$created" +%s)))
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    if [ "$age" -gt "$EXPIRY_SECONDS" ]; then
        _set "$channel" ".current.status = \"expired\" | .current.expired_at = \"$now\""
        _unlock "$channel"
        return 1
    fi
    [ -f "$file" ] || { _log "missing $file"; _unlock "$channel"; return 1; }
    found=$(grep -m1 -oE 'HO-[0-9]{8}-[0-9]{6}-[A-Za-z0-9]+' "$file")
    [ "$found" = "$id" ] || { _log "mismatch: $found is not $id"; _unlock "$channel"; return 1; }
    cat "$file"
    mv "$file" "$HANDOFF_DIR/archive/$id.md"
    _set "$channel" ".current.status = \"consumed\" | .current.consumed_by_pid = $pid | .current.consumed_at = \"$now\""
    _unlock "$channel"
}
get_active_handoff_id() {
    local id
    id=$(read_manifest "$1" | jq -r 'select(.current.status == "active") | .current.id')
    [ -n "$id" ] && echo "$id"
}
get_active_handoff_file() {
    get_active_handoff_id "$1" >/dev/null && [ -f "$(_current "$1")" ] && _current "$1"
}
has_active_handoff() { get_active_handoff_id "$1" >/dev/null; }
clear_handoff() {
    local channel="${1:-global}" id
    _lock "$channel" || return 1
    id=$(get_active_handoff_id "$channel")
    if [ -n "$id" ]; then
        [ ! -f "$(_current "$channel")" ] || mv "$(_current "$channel")" "$HANDOFF_DIR/archive/$id.md"
        _set "$channel" ".current.status = \"cleared\" | .current.cleared_at = \"$(date -u +%Y-%m-%dT%H:%M:%SZ)\""
    fi
    _unlock "$channel"
}
extract_recent_context() {
    [ -f "$1" ] || return 1
    jq -r 'select(.type == "user" or .type == "assistant") | .type as $who
        | (.message.content | if type == "string" then . else [.[] | select(.type == "text") | .text] | join("\n") end)
        | select(. != "") | "\($who): \(.)" | @json' "$1" | tail -n "${2:-20}" | jq -r .
}
write_session_file() { mkdir -p "$CLAUDE_DIR"; echo "$1:$2" >"$SESSION_FILE"; }
clear_session_file() { rm -f "$SESSION_FILE"; }

if [ "${BASH_SOURCE[0]}" = "$0" ] && [ $# -gt 0 ]; then "$@"; fi
