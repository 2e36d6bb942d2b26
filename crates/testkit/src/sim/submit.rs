//! What the agent makes of a text that is entered, by whoever: a command, a prompt, or something for
//! later.

use super::agent::{Pieces, Stage, text_of};
use super::world::{World, tr};
use sm_core::signal::{Came, Signal};
use sm_core::{AgentKind, comparable, words};

impl World {
    /// The agent may keep nothing but the first line of a successor's prompt.
    pub(super) fn drop_document(&mut self, prompt: &mut String) {
        if words::is_wake(prompt) && self.fault(self.options.faults.document_dropped) {
            tr!(self, "fault: the document is dropped");
            prompt.truncate(prompt.find('\n').unwrap_or(prompt.len()));
        }
    }

    /// What is private, unassigned or cannot be seen is left out of a prompt.
    pub(super) fn strip(&mut self, text: &mut String) {
        let unknown = |c: char| matches!(c, '\u{378}' | '\u{e000}');
        if self.agent.kind != AgentKind::Generic && self.fault(self.options.faults.strips) {
            text.retain(|c| !comparable::is_ignorable(c) && !unknown(c));
        }
    }

    /// Enter on a text, by whoever.
    pub(super) fn submit(&mut self, mut pieces: Pieces) {
        for (_, text) in &mut pieces {
            self.strip(text);
        }
        for (_, text) in &mut pieces {
            self.drop_document(text);
        }
        let text = text_of(&pieces);
        if words::is_wake(&text) && self.fault(self.options.faults.prompt_vanishes) {
            tr!(self, "fault: the prompt vanishes");
            return;
        }
        if text.starts_with('/') && self.agent.kind != AgentKind::Generic {
            self.command(&text);
            return;
        }
        match self.agent.stage {
            Stage::Off | Stage::Booting => {}
            Stage::Idle if self.agent.dialog.is_some() => self.agent.queued.push_back(pieces),
            Stage::Idle => self.start_turn(vec![pieces]),
            Stage::Tool if self.agent.kind == AgentKind::Claude => self.say(&text, Came::Queued),
            Stage::Think | Stage::Tool | Stage::PreTool | Stage::PostTool
                if self.agent.kind == AgentKind::Codex =>
            {
                // steers: joins the running turn
                self.say(&text, Came::Prompt);
                self.hook(Signal::PromptAccepted {
                    text,
                    transcript: None,
                });
            }
            Stage::Prompt
            | Stage::Think
            | Stage::PreTool
            | Stage::Ask
            | Stage::Tool
            | Stage::PostTool
            | Stage::Stop
            | Stage::Compact
            | Stage::Clear => self.agent.queued.push_back(pieces),
        }
    }

    fn command(&mut self, text: &str) {
        tr!(self, "command {text:?}");
        self.agent.history += 1; // it is echoed
        if self.enter_by_sm {
            self.check_command(text);
        }
        if text == "/clear" && self.enter_by_sm {
            self.check_clear();
            self.believe_the_clear();
        }
        if self.enter_by_sm && self.fault(self.options.faults.clear_ignored) {
            tr!(self, "fault: {text} has no effect");
            self.clear_ignored();
            return;
        }
        if let Some(old) = text.strip_prefix("/resume ")
            && self.agent.stage == Stage::Idle
        {
            let all = &self.agent.conversations;
            match all.iter().position(|c| c.id.as_str() == old) {
                Some(at) if at != self.agent.current => self.resume_to(at),
                Some(_) | None => {}
            }
        }
        if text.starts_with("/clear") {
            match self.agent.stage {
                Stage::Idle => self.clear(),
                Stage::Off | Stage::Booting => {}
                _ => self.agent.queued_clear = self.agent.kind == AgentKind::Claude,
            }
        }
    }
}
