#!/bin/bash
INPUT=$(cat)
SM_SESSION_ID="${CLAUDE_SESSION_MANAGER_ID}"
TRIGGER=$(echo "$INPUT" | jq -r '.trigger // "unknown"')

if [ -n "$SM_SESSION_ID" ]; then
  # sm server only listens on 127.0.0.1 — localhost-only trusted call
  curl -s --max-time 0.5 -X POST http://localhost:8420/hooks/context-usage \
    -H "Content-Type: application/json" \
    -d "$(jq -n --arg sid "$SM_SESSION_ID" --arg trig "$TRIGGER" \
          '{session_id: $sid, event: "compaction", trigger: $trig}')" \
    >/dev/null 2>&1
fi
exit 0
