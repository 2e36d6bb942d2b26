#!/bin/bash
# Status line script — receives context JSON from Claude Code via stdin
INPUT=$(cat)

# Extract context data
SESSION_ID=$(echo "$INPUT" | jq -r '.session_id // empty')
USED_PCT=$(echo "$INPUT" | jq -r '.context_window.used_percentage // 0')
TOTAL_INPUT=$(echo "$INPUT" | jq -r '.context_window.total_input_tokens // 0')
TOTAL_OUTPUT=$(echo "$INPUT" | jq -r '.context_window.total_output_tokens // 0')
CONTEXT_SIZE=$(echo "$INPUT" | jq -r '.context_window.context_window_size // 200000')

# Map Claude session_id to sm session_id via env var
SM_SESSION_ID="${CLAUDE_SESSION_MANAGER_ID}"

if [ -n "$SM_SESSION_ID" ] && [ "$USED_PCT" != "null" ] && [ "$USED_PCT" != "0" ]; then
  # Post to sm server (non-blocking, short timeout)
  # sm server only listens on 127.0.0.1 — this call is localhost-only (trusted)
  curl -s --max-time 0.5 -X POST http://localhost:8420/hooks/context-usage \
    -H "Content-Type: application/json" \
    -d "$(jq -n \
          --arg sid "$SM_SESSION_ID" \
          --argjson pct "$USED_PCT" \
          --argjson tin "$TOTAL_INPUT" \
          --argjson tout "$TOTAL_OUTPUT" \
          --argjson csz "$CONTEXT_SIZE" \
          '{session_id: $sid, used_percentage: $pct, total_input_tokens: $tin, total_output_tokens: $tout, context_window_size: $csz}')" \
    >/dev/null 2>&1 &
fi

# Output status line text (displayed in Claude Code TUI)
echo "${USED_PCT}% ctx"
