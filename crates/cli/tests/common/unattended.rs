//! Work that nobody watches: the model does what `sm` tells it, and its agent asks for permissions as
//! it does by default.

use super::handoff::{opening, text};
use super::{DEADLINE, World, occurrences};
use serde_json::{Value, json};
use sm_testkit::model::texts_of;
use sm_testkit::wait_until;

/// Tokens that every message adds: an alert comes after about a dozen calls, and the calls of the
/// handoff fit in behind it.
const GROW: u64 = 5_000;

/// So many in a test: each takes the time of some thirty requests. `SM_BOUNDARIES=20` for a night.
pub fn boundaries() -> u64 {
    let asked = std::env::var("SM_BOUNDARIES").ok();
    asked.and_then(|n| n.parse().ok()).unwrap_or(3)
}

/// One prompt, and then only the model and `sm`: the context fills up, the model is told and hands
/// over, its successor goes on until its own is full. `during` is called with the number of each
/// handoff and its id.
pub fn by_its_own_documents(world: &World, args: &[&str], during: impl Fn(u64, &str)) {
    let wanted = boundaries();
    world.model.control(|control| {
        control.obey = true;
        control.grow = GROW;
    });
    world.start_idle("api", args);
    world.send_wait("api", "Finish the long task.", &[]);
    for number in 1..=wanted {
        let begun = wait_handoff_from(world, number, |_| true);
        let id = text(&begun["id"]);
        world.post("api", &format!("n{number}"), &message(number));
        during(number, &id);
        let arrived = |h: &Value| matches!(h["state"].as_str(), Some("prompted" | "done"));
        wait_handoff_from(world, number, arrived);
        never_waited(world);
    }
    world.model.control(|control| {
        control.obey = false;
        control.grow = 0;
        control.reply = Some("ok".into());
    });
    for number in 1..=wanted {
        let done = wait_handoff_from(world, number, |h| h["state"] == "done");
        assert_eq!(done["author"], "agent", "{done:#}");
        successor_has(world, &done, &format!("OBEDIENT-DOCUMENT {number}."));
        world.wait_message("api", &format!("n{number}"), "consumed");
        world.once_ever(&message(number));
    }
    ended_after(world, wanted);
}

/// By what sm itself has written down, whenever somebody asks for it from outside.
pub fn by_sm(world: &World, args: &[&str]) {
    let wanted = boundaries();
    world.model.control(|control| control.obey = true);
    world.start_idle("api", args);
    for number in 1..=wanted {
        world.send_wait("api", &note(number), &[]);
        world.wait_state("api", "idle");
        let ran = world.sm(&["handoff", "--auto", "--session", "api"]);
        assert_eq!(ran.code, Some(0), "{ran:?}\n{}", world.about("api"));
        let done = wait_handoff_from(world, number, |h| h["state"] == "done");
        assert_eq!(done["author"], "ledger", "{done:#}");
        successor_has(world, &done, &note(number));
        never_waited(world);
    }
    ended_after(world, wanted);
}

/// The daemon is killed in every handoff, each time when it has come further.
pub fn over_crashes(world: &World, args: &[&str]) {
    const MOMENTS: [&str; 5] = [
        "scheduled",
        "are safe",
        "clear1 written",
        "the context is left|clear was taken",
        "has its prompt",
    ];
    by_its_own_documents(world, args, |number, id| {
        let moment = MOMENTS[(number - 1) as usize % MOMENTS.len()];
        if moment != "scheduled" {
            world.passes(id, moment);
        }
        world.kill_daemon();
        world.sm(&["ls"]).exits(0);
    });
}

/// The prompt of a successor may name what waits in one line: this is none.
fn message(number: u64) -> String {
    format!("so much about\nthe walrus {number}.")
}

fn note(number: u64) -> String {
    format!("the walrus {number} is hungry.")
}

/// The handoff of this generation, once it is as wanted.
#[track_caller]
fn wait_handoff_from(world: &World, generation: u64, wanted: impl Fn(&Value) -> bool) -> Value {
    let find = || {
        let all = world.seek("/handoffs?session=api")?;
        let of = |h: &&Value| h["from_generation"] == json!(generation) && h["state"] != "refused";
        let found = all.as_array()?.iter().find(of)?.clone();
        let whole = world.seek(&format!("/handoffs/{}", found["id"].as_str()?))?;
        wanted(&whole).then_some(whole)
    };
    let found = wait_until(DEADLINE * 2, find);
    found.unwrap_or_else(|| {
        panic!(
            "not so: the handoff of generation {generation}\n{}\n── handoffs\n{:#?}\n── the model was told last\n{:#?}",
            world.about("api"),
            world.handoffs("api"),
            world.main_requests().last().map(|r| {
                let mut told = texts_of(r);
                told.drain(..told.len().saturating_sub(3));
                told
            })
        )
    })
}

/// What the model was asked first in the new context holds the document, and the handoff says so.
#[track_caller]
pub fn successor_has(world: &World, done: &Value, part: &str) {
    let in_context = &done["in_context"];
    assert_eq!(in_context["characters"], in_context["of"], "{done:#}");
    assert_eq!(in_context["proof"], "transcript", "{done:#}");
    let prompt = text(&done["prompt"]);
    assert!(prompt.contains(part), "{part} is not in {prompt}");
    let all = world.main_requests();
    let first = all.iter().find(|r| texts_of(r).contains(&prompt));
    let first = first.unwrap_or_else(|| panic!("nobody was given {prompt}"));
    assert_eq!(occurrences(first, &prompt), 1, "{done:#}");
    opening(first);
}

#[track_caller]
pub fn never_waited(world: &World) {
    for event in world.events("api") {
        let asked = event.contains(" state waiting") || event.contains("asks for permission");
        assert!(!asked, "{event}\n{}", world.about("api"));
    }
}

/// So many handoffs, each done, and none beside them.
#[track_caller]
fn ended_after(world: &World, wanted: u64) {
    let shown = world.wait_state("api", "idle");
    assert_eq!(shown["generation"], wanted + 1, "{}", world.about("api"));
    let all = world.handoffs("api");
    let done = all.iter().filter(|h| h["state"] == "done").count() as u64;
    assert_eq!((done, all.len() as u64), (wanted, wanted), "{all:#?}");
    never_waited(world);
    eprintln!("{wanted} boundaries, nobody there");
}
