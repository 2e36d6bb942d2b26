//! A provider that refuses for a while, and nobody at the keyboard.

use super::handoff::text;
use super::{World, occurrences};
use rustix::process::Signal;
use serde_json::{Value, json};
use sm_core::limit::LimitKind;
use sm_core::words;
use sm_testkit::model::{ScriptedModel, texts_of};
use sm_testkit::wait_until;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A pause, a reset that is told to the minute, what agents wait by themselves, and then a turn.
/// Shorter than what the test runner waits for a test, which would not say what was missing.
const PATIENCE: Duration = Duration::from_secs(270);
const PROMPT: &str = "Count the pelicans.";
const MEANWHILE: &str = "and what about\nthe herons?";

/// Unix time in seconds, so long from now.
fn in_seconds(seconds: u64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    now.as_secs() + seconds
}

/// From now on every request is refused as an account's usage limit is.
fn usage_limit(world: &World, resets: u64) {
    let at = resets.to_string();
    let named = |headers: &[(&str, &str)]| {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        headers.iter().map(owned).collect::<Vec<_>>()
    };
    world.model.control(|control| {
        control.fail_next = Some(refused(429));
        control.fail_headers = named(&[
            ("x-should-retry", "false"),
            ("anthropic-ratelimit-unified-status", "rejected"),
            ("anthropic-ratelimit-unified-reset", &at),
            (
                "anthropic-ratelimit-unified-representative-claim",
                "five_hour",
            ),
            ("anthropic-ratelimit-unified-5h-status", "rejected"),
            ("anthropic-ratelimit-unified-5h-utilization", "1.0"),
            ("anthropic-ratelimit-unified-5h-reset", &at),
            ("x-codex-primary-used-percent", "100"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-at", &at),
        ]);
        control.fail_error = Some(json!({
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_at": resets,
        }));
    });
}

/// From now on every request is refused as by a provider that has too much to do.
fn overload(world: &World) {
    world.model.control(|control| {
        control.fail_next = Some(refused(529));
        control.fail_error = Some(json!({"type": "overloaded_error", "message": "Overloaded"}));
    });
}

fn refused(status: u16) -> sm_testkit::model::FailNext {
    sm_testkit::model::FailNext {
        status,
        message: "no".into(),
        count: u32::MAX,
    }
}

fn answers_again(world: &World) {
    world.model.control(|control| {
        control.fail_next = None;
        control.fail_headers.clear();
        control.fail_error = None;
        control.reply = Some("ok".into());
    });
}

/// The session meets what the provider does now.
#[track_caller]
fn meets(world: &World, kind: LimitKind) -> Value {
    world.send("api", PROMPT, &[]);
    let shown = wait_show(world, "limited", |shown| shown["state"] == "limited");
    assert_eq!(shown["limit"]["kind"], kind.word(), "{shown:#}");
    assert_eq!(shown["limit"]["tries"], 0, "{shown:#}");
    shown
}

/// Starts a session that is to be left alone.
#[track_caller]
fn start(world: &World, args: &[&str]) {
    let mut all = vec!["--unattended"];
    all.extend(args);
    world.start_idle("api", &all);
}

#[track_caller]
fn wait_show(world: &World, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let found = wait_until(PATIENCE, || {
        let shown = world.show("api");
        is(&shown).then_some(shown)
    });
    found.unwrap_or_else(|| panic!("never {what}\n{}", world.about("api")))
}

/// A text for the agent that has to wait until the limit is over.
#[track_caller]
fn waits_meanwhile(world: &World) -> String {
    let id = world.send("api", MEANWHILE, &[]);
    world.wait_held("api", &id);
    id
}

/// The agent was told once to go on, by these words, and what waited has arrived once.
#[track_caller]
fn goes_on_once(world: &World, words: &[String], waited: &str) {
    wait_show(world, "over", |shown| shown["limit"].is_null());
    world.wait_message("api", waited, "consumed");
    world.wait_state("api", "idle");
    let last = world.main_requests().pop().unwrap();
    let told = |text: &String| occurrences(&last, text);
    assert_eq!(
        words.iter().map(told).sum::<usize>(),
        1,
        "{:#?}\n{}",
        texts_of(&last),
        world.about("api")
    );
    assert_eq!(occurrences(&last, MEANWHILE), 1, "{:#?}", texts_of(&last));
    assert_eq!(occurrences(&last, PROMPT), 1, "{:#?}", texts_of(&last));
    for event in world.events("api") {
        assert!(!event.contains(" state waiting"), "{event}");
    }
}

/// The words by which sm tells an agent to go on.
pub fn our_words(kind: LimitKind) -> Vec<String> {
    vec![words::resume_after(kind)]
}

/// A usage limit, whose end is told, is waited for, while the daemon is killed and comes back; then the
/// agent is told once. `sources`: whoever of them tells the end first.
pub fn usage_limit_is_waited_for(world: &World, args: &[&str], sources: &[&str], words: &[String]) {
    start(world, args);
    let resets = in_seconds(15);
    usage_limit(world, resets);
    meets(world, LimitKind::Usage);
    let shown = wait_show(world, "known how surely", |shown| {
        sources
            .iter()
            .any(|source| shown["limit"]["source"] == *source)
    });
    resets_at(&shown, resets);
    let waited = waits_meanwhile(world);
    world.kill_daemon();
    world.sm(&["ls"]).exits(0);
    answers_again(world);
    goes_on_once(world, words, &waited);
}

/// The time is right: exactly, or to the minute where a sentence is all that there is.
#[track_caller]
fn resets_at(shown: &Value, resets: u64) {
    let told = text(&shown["limit"]["resets_at"]);
    let at = sm_core::Timestamp::parse(&told).unwrap();
    let late = at.0 / 1000 - i64::try_from(resets).unwrap();
    match text(&shown["limit"]["source"]).as_str() {
        "sentence" => assert!((0..=60).contains(&late), "{late} s late: {shown:#}"),
        _ => assert_eq!(late, 0, "{shown:#}"),
    }
}

/// As a machine that was suspended over the end of the limit.
pub fn a_daemon_that_stood_still_tells_once(world: &World, args: &[&str]) {
    start(world, args);
    usage_limit(world, in_seconds(5));
    let shown = meets(world, LimitKind::Usage);
    let waited = waits_meanwhile(world);
    answers_again(world);
    world.signal_daemon(Signal::STOP);
    let until = sm_core::Timestamp::parse(&text(&shown["limit"]["until"])).unwrap();
    let until = u64::try_from(until.0 / 1000).unwrap() + 1;
    wait_until(PATIENCE, || (in_seconds(0) > until).then_some(())).unwrap();
    world.signal_daemon(Signal::CONT);
    goes_on_once(world, &our_words(LimitKind::Usage), &waited);
}

/// Somebody takes the words back: nobody tells the agent to go on, and a person is told.
pub fn cancelled_it_stays_where_it_is(world: &World, args: &[&str]) {
    start(world, args);
    usage_limit(world, in_seconds(5));
    let shown = meets(world, LimitKind::Usage);
    answers_again(world);
    let prompt = text(&shown["limit"]["prompt"]);
    world.sm(&["queue", "rm", "api", &prompt]).exits(0);
    let shown = wait_show(world, "over", |shown| shown["limit"]["phase"] == "over");
    let attention = text(&shown["attention"]);
    assert!(attention.contains("sm send api"), "{shown:#}");
    let ours = &our_words(LimitKind::Usage)[0];
    let told = |request: &sm_testkit::model::Request| occurrences(request, ours) > 0;
    assert!(
        !world.main_requests().iter().any(told),
        "{}",
        world.about("api")
    );
    assert_eq!(world.message("api", &prompt)["state"], "withdrawn");
}

/// An overloaded provider names no time: a pause, and then the agent is told once.
pub fn an_overload_is_waited_out(world: &World, args: &[&str]) {
    start(world, args);
    overload(world);
    let shown = meets(world, LimitKind::Overloaded);
    assert_eq!(shown["limit"]["source"], "assumed", "{shown:#}");
    assert!(shown["limit"]["resets_at"].is_null(), "{shown:#}");
    let waited = waits_meanwhile(world);
    answers_again(world);
    goes_on_once(world, &our_words(LimitKind::Overloaded), &waited);
}

/// The provider cannot be reached, and is there again later.
pub fn a_lost_network_is_waited_out(mut world: World, args: &[&str]) {
    start(&world, args);
    let port = world.model.addr().port();
    drop(std::mem::replace(
        &mut world.model,
        ScriptedModel::start().unwrap(),
    ));
    meets(&world, LimitKind::Network);
    let waited = waits_meanwhile(&world);
    world.model = ScriptedModel::start_at(port, None).unwrap();
    answers_again(&world);
    goes_on_once(&world, &our_words(LimitKind::Network), &waited);
}
