//! The pinned real programs start against the scripted model and run turns.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::PathBuf;
use std::time::Duration;

use sm_testkit::model::{Request, ScriptedModel, conversation_of, is_main, texts_of};
use sm_testkit::real::{self, RealAgent};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

/// Generous: several programs may be starting on a small machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// A real agent in a terminal of its own. Fields drop in order: terminal, then model, then home.
struct Running {
    tmux: Tmux,
    model: ScriptedModel,
    _home: tempfile::TempDir,
}

impl Running {
    fn claude(agent: &RealAgent, prompt: &str) -> Self {
        let (home, cwd, model) = place();
        let env = real::claude_home(agent, home.path(), &cwd, &model.url()).unwrap();
        let argv = [
            agent.program.to_str().unwrap(),
            "--model",
            "claude-sonnet-4-5",
            prompt,
        ];
        Self::start(home, cwd, model, &env, &argv)
    }

    fn codex(agent: &RealAgent, prompt: &str) -> Self {
        let (home, cwd, model) = place();
        let env = real::codex_home(home.path(), &cwd, &model.url()).unwrap();
        let argv = [agent.program.to_str().unwrap(), "--no-daemon", prompt];
        Self::start(home, cwd, model, &env, &argv)
    }

    fn start(
        home: tempfile::TempDir,
        cwd: PathBuf,
        model: ScriptedModel,
        env: &[(String, String)],
        argv: &[&str],
    ) -> Self {
        let tmux = Tmux::new().unwrap();
        tmux.start("agent", (120, 40), &cwd, env, argv).unwrap();
        Self {
            tmux,
            model,
            _home: home,
        }
    }

    /// The main request that holds this text as a block of its own.
    fn request_with(&self, text: &str) -> Request {
        let found = self.model.wait_for_request(
            |r| is_main(r) && texts_of(r).iter().any(|t| t == text),
            DEADLINE,
        );
        found.unwrap_or_else(|| panic!("no request with {text:?}; screen:\n{}", self.screen()))
    }

    fn wait_for_screen(&self, text: &str) {
        self.wait_for(text, |screen| screen.contains(text));
    }

    fn wait_for(&self, what: &str, shows: impl Fn(&str) -> bool) {
        let seen = wait_until(DEADLINE, || shows(&self.screen()).then_some(()));
        assert!(
            seen.is_some(),
            "never saw {what:?}; screen:\n{}",
            self.screen()
        );
    }

    fn screen(&self) -> String {
        self.tmux
            .screen("agent")
            .unwrap_or_else(|error| error.to_string())
    }
}

fn place() -> (tempfile::TempDir, PathBuf, ScriptedModel) {
    let home = tempfile::Builder::new()
        .prefix("tk-")
        .tempdir_in("/tmp")
        .unwrap();
    let cwd = home.path().join("project");
    std::fs::create_dir(&cwd).unwrap();
    (home, cwd, ScriptedModel::start().unwrap())
}

#[test]
fn claude_runs_a_tool_and_a_turn_that_is_interrupted() {
    let test = "claude_runs_a_tool_and_a_turn_that_is_interrupted";
    let Some(agent) = real::or_skip(test, real::claude()) else {
        return;
    };
    let claude = Running::claude(&agent, "RUN: echo from-$((40 + 2))");
    let first = claude.request_with("RUN: echo from-$((40 + 2))");
    assert_eq!(first.route(), "/v1/messages");
    claude.request_with("from-42");
    claude.wait_for_screen("● RUN done");

    let idle = wait_until(DEADLINE, || {
        claude
            .tmux
            .show("agent", "#{pane_title}")
            .unwrap()
            .starts_with('✳')
            .then_some(())
    });
    assert!(idle.is_some(), "the title shows idle after the turn");
    claude
        .tmux
        .paste("agent", "HOLD: gate\nSAY: only the first half")
        .unwrap();
    claude.wait_for_screen("SAY: only the first half");
    claude.tmux.key("agent", "Enter").unwrap();
    let held = claude.request_with("HOLD: gate\nSAY: only the first half");
    assert!(claude.model.wait_for_hold("gate", DEADLINE));
    // before anything was shown, Escape would put the prompt back into the composer instead
    claude.wait_for("first part", |screen| {
        screen.lines().any(|line| line.trim() == "●")
    });
    claude.tmux.key("agent", "Escape").unwrap();
    assert!(
        claude.model.wait_for_abandoned(held.seq, DEADLINE),
        "Escape closes the connection"
    );
    claude.wait_for_screen("Interrupted");
}

#[test]
fn codex_runs_a_held_turn_with_a_tool() {
    let test = "codex_runs_a_held_turn_with_a_tool";
    let Some(agent) = real::or_skip(test, real::codex()) else {
        return;
    };
    let codex = Running::codex(&agent, "HOLD: gate\nRUN: echo from-$((40 + 2))");
    let first = codex.request_with("HOLD: gate\nRUN: echo from-$((40 + 2))");
    assert_eq!(first.route(), "/v1/responses");
    assert!(codex.model.wait_for_hold("gate", DEADLINE));
    codex.model.release("gate");
    let result = |r: &Request| is_main(r) && texts_of(r).iter().any(|t| t.contains("from-42"));
    let after = codex.model.wait_for_request(result, DEADLINE);
    assert_eq!(
        after.as_ref().and_then(conversation_of),
        conversation_of(&first)
    );
    codex.wait_for_screen("• RUN done");
}
