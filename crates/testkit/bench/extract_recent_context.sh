#!/bin/bash
# The last 15 messages of a transcript, 300 characters of each: what stood for a handoff before.
jq -rs '[.[]
  | select((.type == "user" or .type == "assistant") and (.isSidechain | not))
  | {type, text: (.message.content | if type == "string" then . else [.[]? | select(.type == "text") | .text] | join("\n") end)}
  | select(.text != null and .text != "")]
  | .[-15:][] | "**\(.type):** \(.text[0:300])\n"' "$1"
