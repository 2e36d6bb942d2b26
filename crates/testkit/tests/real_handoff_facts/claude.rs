//! Claude Code.

use rustix::process::Signal as Kill;
use sm_agents::Start;
use sm_agents::kind::can_resume;
use sm_core::ids::ConversationId;
use sm_core::profile::AgentKind;
use sm_core::signal::{Activity, Composer, ContextSource, EndReason, Signal};
use sm_testkit::model::{conversation_of, is_main, texts_of};
use sm_testkit::real;

use crate::driver::{Agent, Heard};

fn agent(test: &str) -> Option<Agent> {
    real::or_skip(test, real::claude()).map(|agent| Agent::claude(&agent))
}

fn events(heard: &[Heard]) -> Vec<&str> {
    heard.iter().map(|h| h.event.as_str()).collect()
}

#[test]
fn claude_clears_at_once_and_says_so() {
    let Some(mut claude) = agent("claude_clears_at_once_and_says_so") else {
        return;
    };
    let old = claude.first_turn("SAY: one");
    let from = claude.heard().len();
    let requests = claude.model.requests().len();
    claude.paste("/clear");
    // a list of commands stands below it
    claude.wait_composer(Some("/clear"), &Composer::Ours);
    claude.wait_screen("Start a new session with empty context");
    assert_eq!(claude.composer(None), Composer::DraftOverStash);
    claude.key("Enter");
    let new = claude.wait_elsewhere(&old);
    claude.wait_composer(None, &Composer::Empty);

    let heard = claude.heard().split_off(from);
    assert_eq!(events(&heard), ["SessionEnd", "SessionStart"], "{heard:?}");
    assert_eq!(heard[0].conversation.as_ref(), Some(&old));
    assert_eq!(
        heard[0].signal,
        Signal::ContextEnded {
            reason: EndReason::Clear
        }
    );
    assert_eq!(heard[1].conversation.as_ref(), Some(&new));
    assert!(matches!(
        heard[1].signal,
        Signal::ContextStarted {
            source: ContextSource::Clear,
            transcript: Some(_)
        }
    ));
    assert_eq!(
        claude.model.requests().len(),
        requests,
        "a clear asks the model nothing"
    );
}

#[test]
fn claude_brings_a_stashed_draft_back_before_it_is_idle() {
    let Some(mut claude) = agent("claude_brings_a_stashed_draft_back_before_it_is_idle") else {
        return;
    };
    let mut old = claude.first_turn("SAY: one");
    let long: Vec<String> = (0..40)
        .map(|i| format!("row {i} {}", "x".repeat(40)))
        .collect();
    let long = long.join("\n");
    for draft in ["half a draft", "line one\nline two\nline three", &long] {
        claude.paste(draft);
        claude.wait_composer(Some(draft), &Composer::Ours);
        assert_eq!(claude.composer(None), Composer::Draft);
        claude.key("C-s");
        claude.wait_composer(None, &Composer::Stashed);
        claude.enter("/clear");
        let new = claude.wait_elsewhere(&old);
        // idle in the new context: it is back, so that nothing pasted now would be joined by it
        assert_eq!(claude.composer(Some(draft)), Composer::Ours, "{draft:?}");
        assert_eq!(claude.composer(None), Composer::Draft);

        // so it is put aside once more for the prompt, and comes back with that one's Enter
        let from = claude.heard().len();
        claude.key("C-s");
        claude.wait_composer(None, &Composer::Stashed);
        claude.enter("SAY: woken");
        assert_eq!(
            claude.wait_prompt(from),
            (new.clone(), "SAY: woken".to_owned())
        );
        claude.wait_heard("Stop", from);
        claude.wait_idle();
        claude.wait_composer(Some(draft), &Composer::Ours);

        // whole, also where the screen shows a placeholder
        let from = claude.heard().len();
        claude.key("Enter");
        assert_eq!(claude.wait_prompt(from), (new.clone(), draft.to_owned()));
        claude.wait_heard("Stop", from);
        claude.wait_idle();
        old = new;
    }
}

#[test]
fn claude_loses_an_older_stash_to_a_newer_one_and_both_with_its_process() {
    let test = "claude_loses_an_older_stash_to_a_newer_one_and_both_with_its_process";
    let Some(mut claude) = agent(test) else {
        return;
    };
    let old = claude.first_turn("SAY: one");
    claude.keep_dead_panes();
    claude.type_text("first draft");
    claude.wait_composer(Some("first draft"), &Composer::Ours);
    claude.key("C-s");
    claude.wait_composer(None, &Composer::Stashed);
    claude.type_text("second draft");
    claude.wait_composer(Some("second draft"), &Composer::Ours);
    assert_eq!(claude.composer(None), Composer::DraftOverStash);
    claude.key("C-s");
    claude.wait_composer(None, &Composer::Stashed);
    // on an empty composer the same key brings back what there is
    claude.key("C-s");
    claude.wait_composer(Some("second draft"), &Composer::Ours);
    assert_eq!(claude.composer(None), Composer::Draft, "the first is gone");
    claude.key("C-s");
    claude.wait_composer(None, &Composer::Stashed);

    let from = claude.heard().len();
    claude.end(Kill::TERM);
    assert_eq!(claude.wait_heard("SessionEnd", from).word, "other");
    claude.start(Start::Resume(old.clone()), &[], None);
    let started = claude.wait_heard("SessionStart", from);
    assert_eq!(
        (started.word.as_str(), started.conversation),
        ("resume", Some(old))
    );
    claude.wait_idle();
    assert_eq!(claude.composer(None), Composer::Empty, "no draft, no stash");
}

#[test]
fn claude_goes_back_in_process() {
    let Some(mut claude) = agent("claude_goes_back_in_process") else {
        return;
    };
    let old = claude.first_turn("SAY: said before");
    claude.enter("/clear");
    let new = claude.wait_elsewhere(&old);
    let from = claude.heard().len();
    let command = (sm_agents::claude::PROFILE.resume_command.unwrap())(&old);
    claude.enter(&command);
    assert_eq!(claude.wait_elsewhere(&new), old);
    let heard = claude.heard().split_off(from);
    assert_eq!(events(&heard), ["SessionEnd", "SessionStart"], "{heard:?}");
    assert_eq!(
        (heard[0].word.as_str(), heard[0].conversation.as_ref()),
        ("resume", Some(&new))
    );
    assert_eq!(
        (heard[1].word.as_str(), heard[1].conversation.as_ref()),
        ("resume", Some(&old))
    );
    assert_eq!(claude.composer(None), Composer::Empty);
    let from = claude.heard().len();
    claude.enter("SAY: said after");
    assert_eq!(
        claude.wait_prompt(from),
        (old.clone(), "SAY: said after".to_owned())
    );
    claude.wait_heard("Stop", from);
    let asked = claude.model.requests().into_iter().rfind(is_main);
    let asked = asked.unwrap();
    assert_eq!(conversation_of(&asked), Some(old.as_str()));
    assert!(texts_of(&asked).iter().any(|t| t == "SAY: said before"));
}

#[test]
fn claude_is_started_again_with_a_prompt() {
    let Some(mut claude) = agent("claude_is_started_again_with_a_prompt") else {
        return;
    };
    let old = claude.first_turn("SAY: said before");
    claude.keep_dead_panes();
    claude.end(Kill::TERM);
    let prompt = "Read /tmp/a b.md and go on.\n\n- \"quoted\" $HOME `x`\nSAY: with a prompt";
    for start in [
        Start::Resume(old.clone()),
        Start::New(ConversationId::new("0f3c1b62-8a94-4d0e-9f57-2c1d5e6a7b80").ok()),
    ] {
        let from = claude.heard().len();
        let launch = claude.start(start, &[], Some(prompt));
        assert!(launch.prompt_given);
        let (conversation, text) = claude.wait_prompt(from);
        assert_eq!(
            (Some(conversation), text.as_str()),
            (launch.conversation, prompt)
        );
        claude.wait_heard("Stop", from);
        claude.wait_idle();
        claude.end(Kill::TERM);
    }
    // an id that was used is refused
    let used = ConversationId::new("0f3c1b62-8a94-4d0e-9f57-2c1d5e6a7b80").ok();
    assert_eq!(claude.refused(Start::New(used)), "1");
}

#[test]
fn claude_resumes_a_cleared_context_that_was_never_prompted() {
    let test = "claude_resumes_a_cleared_context_that_was_never_prompted";
    let Some(mut claude) = agent(test) else {
        return;
    };
    let old = claude.first_turn("SAY: one");
    claude.keep_dead_panes();
    let from = claude.heard().len();
    claude.enter("/clear");
    let new = claude.wait_elsewhere(&old);
    let started = claude.wait_heard("SessionStart", from);
    let Signal::ContextStarted {
        transcript: Some(record),
        ..
    } = started.signal
    else {
        panic!("{started:?}");
    };
    // written some 200 ms after the hook, in two steps
    claude.wait("its record", || {
        let record = std::fs::read(&record).ok()?;
        can_resume(AgentKind::Claude, &record).then_some(())
    });
    claude.end(Kill::KILL);
    let from = claude.heard().len();
    claude.start(Start::Resume(new.clone()), &[], Some("SAY: woken"));
    assert_eq!(
        claude.wait_prompt(from),
        (new.clone(), "SAY: woken".to_owned())
    );
    claude.wait_heard("Stop", from);
    claude.wait_idle();
    claude.end(Kill::TERM);

    // named, but without a record: it cannot be resumed, but begun under its name
    let unknown = ConversationId::new("1f3c1b62-8a94-4d0e-9f57-2c1d5e6a7b80").unwrap();
    assert_eq!(claude.refused(Start::Resume(unknown.clone())), "1");
    let from = claude.heard().len();
    claude.start(Start::New(Some(unknown.clone())), &[], Some("SAY: yes"));
    assert_eq!(claude.wait_prompt(from), (unknown, "SAY: yes".to_owned()));
    claude.wait_heard("Stop", from);
    claude.wait_idle();
    claude.end(Kill::TERM);

    // killed between the two steps: neither the one nor the other, only another name
    let half = ConversationId::new("2f3c1b62-8a94-4d0e-9f57-2c1d5e6a7b80").unwrap();
    let line = format!("{{\"type\":\"mode\",\"mode\":\"normal\",\"sessionId\":\"{half}\"}}\n");
    assert!(!can_resume(AgentKind::Claude, line.as_bytes()));
    let folder = std::path::Path::new(&record).parent().unwrap();
    std::fs::write(folder.join(format!("{half}.jsonl")), line).unwrap();
    for start in [Start::Resume(half.clone()), Start::New(Some(half))] {
        assert_eq!(claude.refused(start), "1");
    }
    let from = claude.heard().len();
    claude.start(Start::New(None), &[], Some("SAY: anew"));
    assert_eq!(claude.wait_prompt(from).1, "SAY: anew");
}

#[test]
fn claude_tells_the_new_context_of_the_old_ones_background_task() {
    let test = "claude_tells_the_new_context_of_the_old_ones_background_task";
    let Some(mut claude) = agent(test) else {
        return;
    };
    let gate = claude.cwd.join("gate");
    let command = format!("while [ ! -e {} ]; do sleep 0.05; done", gate.display());
    let prompt = format!(
        "TOOL: Bash {}",
        serde_json::json!({"command": command, "run_in_background": true, "description": "a slow thing"})
    );
    claude.start(Start::New(None), &["--allowedTools", "Bash"], Some(&prompt));
    let stopped = claude.wait_heard("Stop", 0);
    let old = stopped.conversation.clone().unwrap();
    let Signal::Stopping {
        background_tasks, ..
    } = stopped.signal
    else {
        panic!("{stopped:?}");
    };
    assert_eq!(background_tasks, [command]);
    claude.wait_idle();
    claude.enter("/clear");
    let new = claude.wait_elsewhere(&old);
    let from = claude.heard().len();
    std::fs::write(&gate, "").unwrap();
    // a turn that nobody asked for, in the new context
    let (conversation, text) = claude.wait_prompt(from);
    assert_eq!(conversation, new);
    assert!(text.starts_with("<task-notification>"), "{text}");
    let stopped = claude.wait_heard("Stop", from);
    assert_eq!(
        stopped.signal,
        Signal::Stopping {
            again: false,
            background_tasks: Vec::new()
        }
    );
    claude.wait_idle();
    assert_eq!(claude.status().unwrap().activity, Activity::Idle);
}
