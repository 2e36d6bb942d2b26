//! Tool calls within a turn: the Bash tool, its permission dialog, sub-agents, and what joins a
//! tool's result.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::agent::Agent;
use super::answer::{Answer, Ended};
use super::files::{timestamp, uuid};
use super::hooks::{self, Surroundings};
use super::messages::{Origin, Status};
use super::payload;
use super::records::{hook_context, queued_command};
use super::script::{Step, steps};
use super::turn::{End, TOOL_LIMIT};

impl Agent {
    pub(super) fn tool(
        &mut self,
        command: &str,
        ask: bool,
        todo: &mut VecDeque<Step>,
    ) -> Option<End> {
        let input = payload::bash(command);
        let tool = format!("toolu_fake_{:05}", self.conversation.answers + 1);
        let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
        let message = self.message_id();
        self.answered(
            &json!({"type": "tool_use", "id": tool, "name": "Bash", "input": input}),
            "tool_use",
        );
        self.say([format!("● Bash({command})")]);
        self.hooks(
            "PreToolUse",
            "Bash",
            json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": tool}),
        );
        if ask && !self.allowed(command, &input) {
            self.record(|place| place.tool_rejected(&prompt_id, &tool));
            self.record(|place| place.interrupted(&prompt_id, true, None));
            return Some(End::Interrupted);
        }
        let ended = self.run_tool(command);
        if self.shared.is_interrupted() {
            self.record(|place| place.tool_rejected(&prompt_id, &tool));
            self.record(|place| place.interrupted(&prompt_id, true, Some(&message)));
            return Some(End::Interrupted);
        }
        let failed = ended.code != Some(0);
        let (stdout, stderr) = (ended.stdout.trim_end(), ended.stderr.trim_end());
        let text = match (failed, stdout.is_empty() && stderr.is_empty()) {
            (false, true) => "(Bash completed with no output)".to_owned(),
            (false, false) => [stdout, stderr]
                .into_iter()
                .filter(|t| !t.is_empty())
                .collect::<Vec<_>>()
                .join("\n"),
            (true, _) => format!("Exit code {}\n{stdout}{stderr}", ended.code.unwrap_or(-1)),
        };
        self.say([
            format!("  ⎿  {}", text.lines().next().unwrap_or_default()),
            String::new(),
        ]);
        let response = json!({"stdout": stdout, "stderr": stderr, "interrupted": false, "isImage": false, "noOutputExpected": false});
        let mut own = json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": tool, "duration_ms": ended.millis});
        let after = if failed {
            own["error"] = json!(text);
            self.hooks("PostToolUseFailure", "Bash", own)
        } else {
            own["tool_response"] = response.clone();
            self.hooks("PostToolUse", "Bash", own)
        };
        self.record(|place| place.tool_result(&prompt_id, &tool, &text, failed, &response));
        self.take_context("PostToolUse", &after);
        if after.halt {
            return Some(End::Halted);
        }
        let call = json!({"tool_name": "Bash", "tool_input": input, "tool_use_id": tool, "tool_response": text});
        let batch = self.hooks("PostToolBatch", "", json!({"tool_calls": [call]}));
        self.take_context("PostToolBatch", &batch);
        for message in after.messages.iter().chain(&batch.messages) {
            self.say([format!("  ⎿  PostToolBatch says: {message}")]);
        }
        self.take_queued(todo);
        None
    }

    /// Opens the permission dialog, unless a hook decides.
    fn allowed(&mut self, command: &str, input: &Value) -> bool {
        let own = json!({"tool_name": "Bash", "tool_input": input, "permission_suggestions": []});
        if let Some(decided) = self.hooks("PermissionRequest", "Bash", own).permission {
            return decided;
        }
        while self.decisions.try_recv().is_ok() {} // an answer to an older dialog is none to this one
        self.status(Status::Waiting {
            command: command.to_owned(),
        });
        let allowed = self.decisions.recv().unwrap_or(false);
        self.status(Status::Busy { doing: "Working" });
        allowed
    }

    /// What came while the tool ran joins its result, without a prompt hook.
    fn take_queued(&mut self, todo: &mut VecDeque<Step>) {
        for input in self.shared.take_texts() {
            self.record(|place| place.queue_operation("enqueue", Some(&input.text)));
            self.record(|place| place.queue_operation("remove", None));
            let (kind, typed, obeyed) = match &input.origin {
                Origin::Typed | Origin::Queued => ("prompt", true, &input.text),
                Origin::Mail { raw } => ("mailbox", false, raw),
            };
            let attachment = queued_command(&input.text, typed, &timestamp());
            self.record(|place| place.attachment(attachment));
            self.given(kind, obeyed);
            todo.extend(steps(obeyed));
        }
    }

    pub(super) fn take_context(&mut self, event: &str, answer: &Answer) {
        if answer.context.is_empty() {
            return;
        }
        let attachment = hook_context(event, &format!("hook-{}", uuid()), &answer.context);
        self.record(|place| place.attachment(attachment));
        for text in &answer.context {
            self.given("hook_context", text);
        }
    }

    /// A sub-agent runs the command: its hooks name it, and what they answer goes to it, never
    /// into the main conversation.
    pub(super) fn sub_agent(&mut self, command: &str, todo: &mut VecDeque<Step>) -> Option<End> {
        let task =
            json!({"description": "d", "prompt": command, "subagent_type": "general-purpose"});
        let tool = format!("toolu_fake_{:05}", self.conversation.answers + 1);
        let prompt_id = self.conversation.prompt_id.clone().unwrap_or_default();
        let message = self.message_id();
        self.answered(
            &json!({"type": "tool_use", "id": tool, "name": "Agent", "input": task}),
            "tool_use",
        );
        self.say([format!("● Agent({command})")]);
        let call = json!({"tool_name": "Agent", "tool_input": task, "tool_use_id": tool});
        self.hooks("PreToolUse", "Agent", call.clone());
        let within = |mut own: Value| {
            own["agent_id"] = json!("afake00000000000");
            own["agent_type"] = json!("general-purpose");
            own
        };
        let inner = json!({"tool_name": "Bash", "tool_input": payload::bash(command), "tool_use_id": "toolu_sub"});
        self.hooks("PreToolUse", "Bash", within(inner.clone()));
        let ended = self.run_tool(command);
        if self.shared.is_interrupted() {
            self.record(|place| place.tool_rejected(&prompt_id, &tool));
            self.record(|place| place.interrupted(&prompt_id, true, Some(&message)));
            return Some(End::Interrupted);
        }
        let mut inner = inner;
        inner["tool_response"] = json!(ended.stdout.trim_end());
        self.hooks("PostToolBatch", "", within(json!({"tool_calls": [inner]})));
        self.hooks("SubagentStop", "", within(payload::stop(false, "RUN done")));
        let text = "RUN done";
        self.record(|place| {
            place.tool_result(
                &prompt_id,
                &tool,
                text,
                false,
                &json!({"status": "completed"}),
            )
        });
        let mut call = call;
        call["tool_response"] = json!(text);
        self.hooks("PostToolUse", "Agent", call.clone());
        let batch = self.hooks("PostToolBatch", "", json!({"tool_calls": [call]}));
        self.take_context("PostToolBatch", &batch);
        self.take_queued(todo);
        None
    }

    /// Runs a command as the Bash tool does.
    pub(super) fn run_tool(&self, command: &str) -> Ended {
        let around = Surroundings {
            cwd: &self.paths.cwd,
            session: &self.conversation.id,
            role: "agent",
        };
        let run = hooks::start(&around, command, "", Some(&self.shared));
        run.map(|run| run.finish(TOOL_LIMIT, Some(&self.shared)))
            .unwrap_or_default()
    }
}
