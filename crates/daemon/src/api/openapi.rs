//! The description of the API, served at `/openapi.json`. A test compares it with the routes.

use axum::Json;
use serde_json::{Map, Value, json};

/// One route: method, path, what it does, what it takes and what it gives.
pub struct Route {
    pub method: &'static str,
    pub path: &'static str,
    pub summary: &'static str,
    /// Names of the query's fields.
    pub query: &'static [&'static str],
    /// Name of the body's schema.
    pub body: Option<&'static str>,
    /// Name of the answer's schema, `[]` behind it for an array.
    pub answer: &'static str,
}

macro_rules! routes {
    ($($method:literal $path:literal $summary:literal ($($query:literal),*) $body:expr, $answer:literal;)*) => {
        pub const ROUTES: &[Route] = &[$(Route {
            method: $method, path: $path, summary: $summary, query: &[$($query),*], body: $body, answer: $answer,
        }),*];
    };
}

routes! {
    "get" "/health" "Is the daemon well?" () None, "Health";
    "get" "/status" "What the daemon knows of itself: problems and what needs attention" () None, "Status";
    "post" "/stop" "Stop the daemon; sessions go on" () None, "Health";
    "post" "/gc" "Remove what is old, or show what would be" () Some("Gc"), "GcReport";
    "get" "/" "The dashboard" () None, "Any";
    "get" "/assets/{path}" "A file of the dashboard" () None, "Any";
    "get" "/favicon.ico" "A file of the dashboard" () None, "Any";
    "post" "/signin" "A link that signs a browser in, once and within a minute; not for browsers" () None, "SignIn";
    "get" "/signin/{code}" "Signs the browser in that follows the link: a cookie, and on to the dashboard; 410 if it does not work any more" () None, "Any";
    "post" "/signout" "Signs the asking browser out" () None, "Any";
    "get" "/openapi.json" "This description" () None, "Any";
    "get" "/sessions" "Sessions that live or need attention; all of them with all=true" ("all") None, "Session[]";
    "post" "/sessions" "Start a session" () Some("NewSession"), "Session";
    "get" "/sessions/{session}" "One session, by id, unique id prefix or name" () None, "Session";
    "patch" "/sessions/{session}" "Rename a session, or switch its alerts on or off" () Some("Patch"), "Session";
    "delete" "/sessions/{session}" "End the session's own processes; with purge=true forget it" ("purge") None, "Session";
    "post" "/sessions/{session}/restore" "Start a lost or exited session again, in its own conversation" () Some("Restore"), "Session";
    "get" "/sessions/{session}/wait" "Wait until the session has a state" ("for", "timeout_ms") None, "Session";
    "get" "/sessions/{session}/attach" "The command that attaches to its terminal" () None, "Attach";
    "get" "/sessions/{session}/output" "Readable text of its terminal" ("lines") None, "Output";
    "get" "/sessions/{session}/terminal" "Its terminal, live (a WebSocket): what it shows, then its bytes as they come; keys after a takeover" () None, "Any";
    "get" "/sessions/{session}/archive" "Everything its terminal has shown, or one generation of it, as text; with raw=true the terminal's bytes (a stream)" ("generation", "raw") None, "Any";
    "get" "/sessions/{session}/archive/about" "Where the archive lies, and which generations it has" () None, "Archive";
    "get" "/sessions/{session}/archive/search" "Lines of the archive that match a regular expression, one JSON object a line (a stream)" ("pattern", "ignore_case", "context", "generation") None, "Found";
    "get" "/sessions/{session}/context" "How full its context is, by source, with thresholds and history" () None, "Context";
    "get" "/sessions/{session}/context/history" "How full its contexts have been, at most 500 points" () None, "UsagePoint[]";
    "get" "/sessions/{session}/ledger" "What sm knows of its context, as a document of at most that many characters; with brief=true only the lines" ("budget", "generation", "brief") None, "Ledger";
    "get" "/sessions/{session}/events" "Its history" ("after", "limit") None, "Event[]";
    "get" "/sessions/{session}/messages" "Messages not yet consumed; all of them with all=true" ("all") None, "Message[]";
    "post" "/sessions/{session}/messages" "Send a message; the same id is the same message" () Some("Send"), "Message";
    "get" "/sessions/{session}/messages/{message}" "What is known of a message; waits until it has come that far" ("wait_ms", "until") None, "Message";
    "get" "/sessions/{session}/messages/{message}/reply" "What the agent answered to a message; waits until the turn that took it has ended, or somebody has to act" ("timeout_ms") None, "Reply";
    "delete" "/sessions/{session}/messages/{message}" "Withdraw a message the agent does not have yet" () None, "Message";
    "post" "/sessions/{session}/handoff" "Hand the session's work to a new context after its turn; a refusal is {error} with status 200" () Some("Handoff"), "HandoffAnswer";
    "delete" "/sessions/{session}/handoff" "Take a handoff back that has not begun" () Some("Cancel"), "HandoffAnswer";
    "post" "/sessions/{session}/handoff/auto" "The same with a document from the ledger, for a person" () None, "HandoffAnswer";
    "post" "/sessions/{session}/handoff/generate" "The same with a document by a model, which is written beside the session; how it ends is an event" () Some("Generate"), "HandoffAnswer";
    "post" "/sessions/{session}/handoff/check" "What the gate says of a document; nothing is scheduled" () Some("Check"), "CheckReport";
    "get" "/sessions/{session}/pins" "Constraints that every context of the session is told, its own and its project's" () None, "Pins";
    "post" "/sessions/{session}/pins" "Pin a constraint to the session; the same text again changes nothing" () Some("Pin"), "Pins";
    "delete" "/sessions/{session}/pins" "Take a pin of the session's back" () Some("Pin"), "Pins";
    "get" "/handoff/template" "What a good handoff document holds" () None, "Output";
    "get" "/handoffs" "The history of handoffs, newest first" ("session", "limit") None, "HandoffRecord[]";
    "get" "/handoffs/{handoff}" "One handoff: its document, artifacts, steps and prompt" () None, "HandoffRecord";
    "get" "/handoffs/{handoff}/document" "The document of a handoff, as sm kept it" () None, "Output";
    "get" "/events" "All events as they happen (server-sent events); with sessions=true or sessions=all first the list of sessions, then each that changes" ("session", "after", "sessions") None, "Event";
    "post" "/hooks/context-usage" "A usage report, or the notice of a compaction" () Some("Usage"), "Any";
    "post" "/hooks/{agent}/{event}" "A hook of an agent; the answer is what the hook prints" () Some("Any"), "Any";
    "post" "/runs/{session}" "An agent under `sm run` is a session, and this is how it is" () Some("Any"), "Any";
    "post" "/runs/{session}/hold" "Kept open as long as that `sm run` lives" () None, "Any";
    "post" "/mailbox/{waiter}/taken" "A waiter hands its text to its agent" () None, "Any";
    "post" "/mailbox/{waiter}/refused" "The agent will not do what it was offered, and says why" () Some("Any"), "Any";
    "post" "/launch/{session}/{launch}" "What a launcher is to run, once" () None, "Any";
    "post" "/launch/{session}/{launch}/started" "The agent runs" () Some("Any"), "Any";
    "post" "/launch/{session}/{launch}/failed" "The agent could not be started" () Some("Any"), "Any";
    "post" "/launch/{session}/{launch}/exited" "The agent has ended; what its launcher does next" () Some("Any"), "Any";
    "post" "/launch/{session}/{launch}/environment" "A waiting launcher hands over what it holds in memory" () Some("Any"), "Any";
}

pub async fn serve() -> Json<Value> {
    Json(description())
}

pub fn description() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let entry = paths.entry(route.path).or_insert_with(|| json!({}));
        if let Value::Object(methods) = entry {
            methods.insert(route.method.to_string(), operation(route));
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "sm",
            "version": super::daemon::VERSION,
            "description": "Sessions of coding agents. Over the Unix socket, or on 127.0.0.1 for the same user or with the token. Errors are {error, hint}.",
        },
        "paths": paths,
        "components": {"schemas": schemas()},
    })
}

fn operation(route: &Route) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(
        route
            .query
            .iter()
            .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string"}})),
    );
    let mut operation = json!({
        "summary": route.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "done", "content": {"application/json": {"schema": schema(route.answer)}}},
            "default": {"description": "refused", "content": {"application/json": {"schema": schema("Error")}}},
        },
    });
    if let (Some(body), Value::Object(fields)) = (route.body, &mut operation) {
        let content = json!({"content": {"application/json": {"schema": schema(body)}}});
        fields.insert("requestBody".into(), content);
    }
    operation
}

fn schema(name: &str) -> Value {
    match name.strip_suffix("[]") {
        Some(item) => json!({"type": "array", "items": schema(item)}),
        None => json!({"$ref": format!("#/components/schemas/{name}")}),
    }
}

fn schemas() -> Value {
    let mut all = most_schemas();
    if let (Value::Object(all), Value::Object(more)) = (&mut all, document_schemas()) {
        all.extend(more);
    }
    all
}

/// Of what is said about documents and to every context, and to browsers.
fn document_schemas() -> Value {
    let text = || json!({"type": "string"});
    let maybe_text = || json!({"type": ["string", "null"]});
    let number = || json!({"type": "integer"});
    let maybe_number = || json!({"type": ["integer", "null"]});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    json!({
        "HandoffRecord": object(json!({
            "id": text(), "session": text(),
            "state": {"type": "string", "enum": ["scheduled", "prepared", "cleared", "prompted", "done", "replaced", "cancelled", "abandoned", "rolled_back"]},
            "trigger": {"type": "string", "enum": ["agent", "person", "threshold", "compaction_imminent", "compacted"]},
            "author": {"type": "string", "enum": ["agent", "person", "model", "ledger"]}, "note": maybe_text(),
            "carrier": {"type": "string", "enum": ["clear", "relaunch"]},
            "from_generation": number(), "to_generation": maybe_number(), "from_conversation": maybe_text(),
            "document": text(), "copy": text(), "folder": text(), "given": maybe_text(),
            "artifacts": {"type": "array", "items": object(json!({
                "kind": {"type": "string", "enum": ["document", "snapshot", "log", "transcript", "in_flight"]},
                "path": text(), "bytes": maybe_number(), "lines": maybe_number(), "problem": maybe_text(),
            }))},
            "steps": {"type": "array", "items": object(json!({"at": text(), "text": text()}))},
            "tokens_before": maybe_number(), "tokens_after": maybe_number(),
            "created_at": text(), "prompted_at": maybe_text(), "done_at": maybe_text(), "took_ms": maybe_number(), "prompt": maybe_text(),
            "in_context": {"type": ["object", "null"], "properties": {"characters": number(), "of": number(), "proof": {"type": ["string", "null"], "enum": ["hook", "transcript", null]}, "text": text()}},
        })),
        "Check": object(json!({"file_path": text()})),
        "CheckReport": object(json!({
            "score": number(),
            "findings": {"type": "array", "items": object(json!({
                "line": maybe_number(), "level": {"type": "string", "enum": ["note", "warning", "error"]}, "what": text(), "todo": text(),
            }))},
        })),
        "Pin": object(json!({"text": text()})),
        "UsagePoint": object(json!({"at": text(), "used_percentage": {"type": "number"}, "tokens": maybe_number(), "window": maybe_number(), "generation": number()})),
        "Generate": object(json!({"focus": text()})),
        "Reply": object(json!({
            "done": {"type": "boolean"}, "reply": {"type": ["string", "null"]},
            "message": {"$ref": "#/components/schemas/Message"}, "session": {"$ref": "#/components/schemas/Session"},
        })),
        "SignIn": object(json!({"url": text(), "expires_at": text()})),
        "Pins": object(json!({
            "session": text(), "name": text(), "file": text(),
            "pins": {"type": "array", "items": object(json!({"text": text(), "of": {"type": "string", "enum": ["session", "project"]}}))},
        })),
    })
}

fn most_schemas() -> Value {
    let text = || json!({"type": "string"});
    let maybe_text = || json!({"type": ["string", "null"]});
    let number = || json!({"type": "integer"});
    let maybe_number = || json!({"type": ["integer", "null"]});
    let texts = || json!({"type": "array", "items": {"type": "string"}});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    json!({
        "Any": {},
        "Error": object(json!({"error": text(), "hint": text()})),
        "Health": object(json!({"ok": {"type": "boolean"}, "version": text(), "protocol": number(), "pid": number()})),
        "Status": object(json!({
            "pid": number(), "version": text(), "protocol": number(), "socket": text(), "address": maybe_text(),
            "sessions": number(), "uptime_ms": number(), "attention": texts(), "problems": texts(),
        })),
        "Session": object(json!({
            "id": text(), "name": text(), "agent": text(),
            "state": {"type": "string", "enum": ["starting", "working", "idle", "waiting", "compacting", "handing_off", "limited", "exited", "lost"]},
            "state_reason": text(), "state_since": text(),
            "waiting_for": {"type": ["object", "null"], "properties": {"kind": {"type": "string", "enum": ["permission", "question", "first_run"]}, "tool": maybe_text(), "request": maybe_text(), "more": number()}},
            "limit": {"type": ["object", "null"], "properties": {"kind": {"type": "string", "enum": ["usage", "overloaded", "network"]}, "text": text(), "since": text(), "until": text(), "resets_at": maybe_text(), "source": {"type": "string", "enum": ["agent", "transcript", "sentence", "assumed"]}, "phase": {"type": "string", "enum": ["waiting", "due", "trying", "over"]}, "tries": number(), "prompt": maybe_text(), "continues_itself": {"type": "boolean"}}},
            "turn_error": maybe_text(),
            "goal": maybe_text(), "activity": maybe_text(), "generation": number(), "compactions": number(),
            "conversation_id": maybe_text(), "transcript_path": maybe_text(), "cwd": text(), "parent": maybe_text(), "children": texts(),
            "context": object(json!({"used_percentage": {"type": ["number", "null"]}, "tokens": maybe_number(), "window": maybe_number(), "source": maybe_text(), "at": maybe_text(), "last_sample_at": maybe_text(), "quiet_since": maybe_text(), "trend": {"type": ["number", "null"]}, "warning": maybe_number(), "critical": maybe_number()})),
            "tmux": object(json!({"socket": maybe_text(), "session": maybe_text(), "pane": maybe_text()})),
            "pid": maybe_number(), "exit_code": maybe_number(), "last_handoff_path": maybe_text(),
            "handoff": {"type": ["object", "null"], "properties": {"id": text(), "state": text(), "created_at": text(), "waits_for_person": maybe_text()}},
            "failed_handoff": {"type": ["object", "null"], "properties": {"id": text(), "state": {"type": "string", "enum": ["rolled_back", "abandoned"]}, "reason": text(), "at": text(), "document": text()}},
            "tokens_used": number(), "log_file": maybe_text(), "turn": number(),
            "created_at": text(), "changed_at": text(),
            "queue": object(json!({"queued": number(), "held": number(), "held_reason": maybe_text()})),
            "attention": maybe_text(), "handoff_needs_person": maybe_text(),
        })),
        "Message": object(json!({
            "id": text(), "session": text(),
            "from": object(json!({"kind": {"type": "string", "enum": ["person", "session", "sm"]}, "id": maybe_text(), "name": maybe_text()})),
            "mode": {"type": "string", "enum": ["sequential", "important", "urgent"]},
            "state": {"type": "string", "enum": ["queued", "held", "written", "submitted", "consumed", "expired", "withdrawn", "failed"]},
            "reason": maybe_text(), "hold": maybe_text(), "way": maybe_text(), "proof": maybe_text(), "text": text(), "created_at": text(), "changed_at": text(),
        })),
        "Event": object(json!({
            "seq": number(), "at": text(), "session": text(), "generation": number(), "turn": number(), "kind": text(), "text": text(),
        })),
        "NewSession": object(json!({
            "id": text(), "agent": {"type": "string", "enum": ["claude", "codex", "native", "generic"]}, "name": text(), "cwd": text(),
            "args": texts(), "command": texts(), "prompt": text(), "env": {"type": "array", "items": texts()},
            "parent": text(), "cols": number(), "rows": number(),
        })),
        "Patch": object(json!({"name": text(), "watch": {"type": "boolean"}})),
        "Context": object(json!({
            "session": text(), "name": text(), "agent": text(), "generation": number(), "compactions": number(),
            "used_percentage": {"type": ["number", "null"]}, "tokens": maybe_number(), "window": maybe_number(), "usable": maybe_number(), "usable_percentage": {"type": ["number", "null"]},
            "source": maybe_text(), "at": maybe_text(), "last_sample_at": maybe_text(), "trend": {"type": ["number", "null"]},
            "samples": {"type": "array", "items": object(json!({"source": text(), "used_percentage": {"type": ["number", "null"]}, "tokens": maybe_number(), "at": text()}))},
            "disagreement": {"type": ["array", "null"], "items": {"type": "number"}}, "watched": {"type": "boolean"}, "on_compaction": {"type": "string", "enum": ["allow", "handoff"]}, "can_hold_up": {"type": "boolean"},
            "thresholds": {"type": "array", "items": object(json!({"percent": number(), "level": {"type": "string", "enum": ["warning", "critical"]}, "said": {"type": "boolean"}}))},
            "history": {"type": "array", "items": object(json!({"at": text(), "generation": number(), "used_percentage": {"type": "number"}, "tokens": maybe_number()}))},
        })),
        "Restore": object(json!({"env": {"type": "array", "items": texts()}, "cols": number(), "rows": number(), "fresh": {"type": "boolean"}})),
        "Send": object(json!({
            "id": text(), "text": text(), "mode": text(), "raw": {"type": "boolean"}, "from": text(), "notify": {"type": "boolean"}, "expires_ms": number(),
        })),
        "Usage": object(json!({
            "session_id": text(), "used_percentage": {"type": "number"}, "total_input_tokens": number(), "total_output_tokens": number(),
            "context_window_size": number(), "event": text(), "trigger": text(),
        })),
        "Handoff": object(json!({
            "id": text(), "requester_session_id": text(), "person": {"type": "boolean"}, "file_path": text(), "document": text(), "force": {"type": "boolean"},
            "auto": {"type": "boolean"}, "env": {"type": "array", "items": texts()},
            "author": {"type": "string", "enum": ["model"]}, "note": text(),
        })),
        "Cancel": object(json!({"requester_session_id": text()})),
        "HandoffAnswer": object(json!({
            "status": {"type": "string", "enum": ["scheduled", "generating", "cancelled"]}, "id": text(),
            "when": {"type": "string", "enum": ["turn_end", "now", "ready", "compacted", "answered", "start"]}, "copy": text(), "replaced": text(),
            "warnings": texts(), "error": text(),
        })),
        "Attach": object(json!({"argv": texts()})),
        "Archive": object(json!({
            "folder": text(), "text": text(), "raw": text(), "lines": number(), "rendered": number(),
            "generations": {"type": "array", "items": object(json!({"generation": number(), "at": maybe_text()}))},
        })),
        "Ledger": object(json!({
            "session": text(), "name": text(), "generation": number(), "conversation_id": maybe_text(), "transcript_path": text(),
            "last_at": maybe_text(), "at": text(), "goal": maybe_text(), "files": texts(), "failing": maybe_text(), "text": text(),
        })),
        "Found": object(json!({"line": number(), "generation": number(), "at": maybe_text(), "match": {"type": "boolean"}, "text": text()})),
        "Output": object(json!({"text": text()})),
        "Gc": object(json!({"dry_run": {"type": "boolean"}})),
        "GcReport": object(json!({
            "dry_run": {"type": "boolean"}, "bytes": number(),
            "items": {"type": "array", "items": object(json!({"session": text(), "path": text(), "bytes": number(), "reason": text()}))},
        })),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// `(method, path)` of every route in the router's own source.
    fn served() -> BTreeSet<(String, String)> {
        let source: String = include_str!("mod.rs")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join("");
        let mut found = BTreeSet::new();
        for part in source.split(".route(\"").skip(1) {
            let Some((path, rest)) = part.split_once('"') else {
                continue;
            };
            let calls = rest.split(".route(").next().unwrap_or_default();
            for method in ["get", "post", "patch", "delete"] {
                let direct = format!(",{method}(");
                let chained = format!(".{method}(");
                if calls.contains(&direct) || calls.contains(&chained) {
                    found.insert((method.to_string(), path.replace("{*", "{")));
                }
            }
        }
        found
    }

    #[test]
    fn the_description_lists_exactly_the_routes() {
        let described: BTreeSet<_> = ROUTES
            .iter()
            .map(|r| (r.method.to_string(), r.path.to_string()))
            .collect();
        assert!(described.len() > 20);
        assert_eq!(described, served());
    }

    #[test]
    fn every_schema_that_is_named_exists() {
        let schemas = schemas();
        for route in ROUTES {
            for name in [Some(route.answer), route.body].into_iter().flatten() {
                let name = name.trim_end_matches("[]");
                assert!(schemas.get(name).is_some(), "{name}");
            }
        }
    }
}
