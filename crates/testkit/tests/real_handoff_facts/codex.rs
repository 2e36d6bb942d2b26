//! Codex.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal as Kill;
use sm_agents::Start;
use sm_agents::codex::files;
use sm_core::ids::{ConversationId, Timestamp};
use sm_core::signal::Composer;
use sm_testkit::real;

use crate::driver::{Agent, make_repository};

fn agent(test: &str) -> Option<Agent> {
    real::or_skip(test, real::codex()).map(|agent| Agent::codex(&agent))
}

/// All records there are.
fn records(codex: &Agent) -> Vec<PathBuf> {
    let mut found = vec![files::sessions_dir(&codex.agent_home())];
    for _ in 0..4 {
        let below = found.iter().flat_map(|folder| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect::<Vec<_>>()
        });
        found = below.collect();
    }
    found
}

fn has_record(codex: &Agent, conversation: &ConversationId) -> bool {
    records(codex).iter().any(|file| {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| files::is_rollout_of(name, conversation))
    })
}

/// The thread it has made and in which nothing was said.
fn fresh(codex: &Agent) -> Option<(ConversationId, Timestamp)> {
    let home = codex.agent_home().canonicalize().unwrap();
    files::fresh_thread(&home, &codex.open_files(), |id| has_record(codex, id))
}

fn wait_fresh(codex: &Agent) -> ConversationId {
    codex.wait("a fresh thread", || fresh(codex)).0
}

#[test]
#[cfg(target_os = "linux")]
fn codex_clears_with_one_enter_and_locks_its_new_thread() {
    let Some(mut codex) = agent("codex_clears_with_one_enter_and_locks_its_new_thread") else {
        return;
    };
    make_repository(&codex.cwd);
    let old = codex.first_turn("SAY: one");
    assert_eq!(fresh(&codex), None, "something was said in the only thread");
    let from = codex.heard().len();
    codex.paste("/clear");
    // the list of commands stands above it, with the same sign
    codex.wait_composer(Some("/clear"), &Composer::Ours);
    codex.wait_screen("clear the terminal and start a new chat");
    assert_eq!(codex.composer(None), Composer::Draft);
    codex.key("Enter");
    // no picker in a repository, no second Enter
    let new = wait_fresh(&codex);
    assert_ne!(new, old);
    codex.wait_composer(None, &Composer::Empty);
    assert_eq!(codex.heard().len(), from, "no hook tells of a clear");
    assert!(!has_record(&codex, &new), "nor does a record");

    codex.enter("SAY: two");
    assert_eq!(
        codex.wait_prompt(from),
        (new.clone(), "SAY: two".to_owned())
    );
    let started = codex.wait_heard("SessionStart", from);
    assert_eq!(
        (started.word.as_str(), started.conversation),
        ("clear", Some(new.clone()))
    );
    codex.wait_heard("Stop", from);
    codex.wait("its record", || has_record(&codex, &new).then_some(()));
    assert_eq!(fresh(&codex), None);
    // the old record stays open, so that open records do not tell which conversation it is
    let open = codex.open_files();
    for conversation in [&old, &new] {
        let of = |file: &&PathBuf| {
            let name = file.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| files::is_rollout_of(name, conversation))
        };
        assert!(open.iter().any(|file| of(&file)), "{conversation}");
    }

    // the other command asks first
    codex.wait_idle();
    codex.enter("/new");
    codex.wait_screen("Where should the new conversation run?");
    assert_eq!(codex.composer(None), Composer::Hidden);
    codex.key("Escape");
    codex.wait_composer(None, &Composer::Empty);
    assert_eq!(fresh(&codex), None);
}

#[test]
#[cfg(target_os = "linux")]
fn codex_has_a_thread_before_its_first_prompt() {
    let Some(mut codex) = agent("codex_has_a_thread_before_its_first_prompt") else {
        return;
    };
    codex.start(Start::New(None), &[], None);
    let first = wait_fresh(&codex);
    codex.wait_idle();
    // cleared before anything was said: one more
    codex.enter("/clear");
    let second = codex.wait("a second thread", || {
        fresh(&codex).filter(|(id, _)| *id != first)
    });
    let from = codex.heard().len();
    codex.wait_composer(None, &Composer::Empty);
    codex.enter("SAY: one");
    assert_eq!(codex.wait_prompt(from).0, second.0);
    codex.wait_heard("Stop", from);
    codex.wait_idle();

    // a sub-agent's thread is never taken for one
    let from = codex.heard().len();
    codex.enter("TOOL: multi_agent_v1/spawn_agent {\"message\":\"HOLD: sub\"}");
    assert!(
        codex
            .model
            .wait_for_hold("sub", std::time::Duration::from_secs(60))
    );
    codex.wait_heard("Stop", from);
    assert_eq!(fresh(&codex).map(|(id, _)| id), Some(first));
    codex.model.release("sub");
}

#[test]
fn codex_takes_a_prompt_right_after_a_clear_into_the_new_thread() {
    let test = "codex_takes_a_prompt_right_after_a_clear_into_the_new_thread";
    let Some(mut codex) = agent(test) else {
        return;
    };
    let mut old = codex.first_turn("SAY: zero");
    let enough = Arc::new(AtomicBool::new(false));
    let load: Vec<_> = (0..3)
        .map(|_| {
            let enough = enough.clone();
            std::thread::spawn(move || {
                while !enough.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        })
        .collect();
    for round in 0..30 {
        let from = codex.heard().len();
        codex.enter("/clear");
        // the first moment at which it reads as free
        codex.wait_composer(None, &Composer::Empty);
        let prompt = format!("SAY: round {round}");
        codex.enter(&prompt);
        let (new, text) = codex.wait_prompt(from);
        assert_eq!(text, prompt);
        assert_ne!(new, old, "round {round}: the old thread took it");
        codex.wait_heard("Stop", from);
        codex.wait_idle();
        old = new;
    }
    enough.store(true, Ordering::Relaxed);
    for thread in load {
        thread.join().unwrap();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn codex_refuses_a_clear_at_work_and_lets_go_of_it_all_the_same() {
    let test = "codex_refuses_a_clear_at_work_and_lets_go_of_it_all_the_same";
    let Some(mut codex) = agent(test) else {
        return;
    };
    let old = codex.first_turn("SAY: one");
    let from = codex.heard().len();
    codex.enter("HOLD: gate\nSAY: two");
    assert!(
        codex
            .model
            .wait_for_hold("gate", std::time::Duration::from_secs(60))
    );
    codex.enter("/clear");
    codex.wait_screen("'/clear' is disabled while a task is in progress.");
    codex.wait_composer(None, &Composer::Empty);
    codex.model.release("gate");
    codex.wait_heard("Stop", from);
    codex.wait_idle();
    // an empty composer of an idle agent: only the lock tells that there is no new thread
    assert_eq!(codex.composer(None), Composer::Empty);
    assert_eq!(fresh(&codex), None);
    let from = codex.heard().len();
    codex.enter("SAY: three");
    assert_eq!(codex.wait_prompt(from).0, old, "still the old thread");
}

#[test]
fn codex_puts_no_draft_aside() {
    let Some(mut codex) = agent("codex_puts_no_draft_aside") else {
        return;
    };
    codex.first_turn("SAY: one");
    codex.type_text("half a draft");
    codex.wait_composer(Some("half a draft"), &Composer::Ours);
    codex.key("C-s");
    codex.type_text("!");
    // after the key: the draft is where it was
    codex.wait_composer(Some("half a draft!"), &Composer::Ours);
    assert_eq!(codex.composer(None), Composer::Draft);
}

#[test]
fn codex_is_started_again_with_a_prompt() {
    let Some(mut codex) = agent("codex_is_started_again_with_a_prompt") else {
        return;
    };
    let old = codex.first_turn("SAY: one");
    codex.keep_dead_panes();
    codex.end(Kill::TERM);
    let prompt = "Read /tmp/a b.md and go on.\n\n- \"quoted\" $HOME `x`\nSAY: with a prompt";
    for (start, source) in [
        (Start::Resume(old.clone()), "resume"),
        (Start::New(None), "startup"),
    ] {
        let from = codex.heard().len();
        let launch = codex.start(start, &[], Some(prompt));
        assert!(launch.prompt_given);
        let (conversation, text) = codex.wait_prompt(from);
        assert_eq!(text, prompt);
        assert_eq!(conversation == old, source == "resume");
        assert_eq!(codex.wait_heard("SessionStart", from).word, source);
        codex.wait_heard("Stop", from);
        codex.wait_idle();
        codex.end(Kill::TERM);
    }
    // a thread in which nothing was said has no record to come back to
    let unsaid = ConversationId::new("01a1df15-0e2b-7741-9ad5-68ff7f2ac9ec").unwrap();
    assert_eq!(codex.refused(Start::Resume(unsaid)), "1");
}

#[test]
fn codex_goes_back_in_process_but_proves_it_with_the_next_prompt_only() {
    let test = "codex_goes_back_in_process_but_proves_it_with_the_next_prompt_only";
    let Some(mut codex) = agent(test) else {
        return;
    };
    let old = codex.first_turn("SAY: said before");
    codex.enter("/clear");
    codex.wait_composer(None, &Composer::Empty);
    let from = codex.heard().len();
    codex.enter(&format!("/resume {old}"));
    codex.wait_screen("• said before");
    codex.wait_composer(None, &Composer::Empty);
    let heard = codex.heard().split_off(from);
    assert!(heard.iter().all(|h| h.event == "SessionEnd"), "{heard:?}");
    let from = codex.heard().len();
    codex.enter("SAY: said after");
    assert_eq!(codex.wait_prompt(from).0, old);
}
