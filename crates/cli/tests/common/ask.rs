//! What a reader gets of a real agent's answer.

use super::World;

/// After `sm wait --for idle` the answer is to be read, each of eight times; `sm ask` prints it and
/// nothing else.
#[track_caller]
pub fn answers_can_be_read(world: &World, args: &[&str]) {
    world.start_idle("api", args);
    let mut missed = Vec::new();
    for n in 1..=8 {
        let answer = format!("The answer number {n} is walrus-{}.", n * 37);
        world.model.control(|c| c.reply = Some(answer.clone()));
        world.send_wait("api", &format!("question {n}?"), &[]);
        world.sm(&["wait", "api", "--for", "idle"]).exits(0);
        let output = world.sm(&["output", "api"]).exits(0).out;
        if output.matches(&answer).count() != 1 {
            missed.push((n, output));
        }
    }
    assert!(missed.is_empty(), "{} of 8: {missed:#?}", missed.len());
    // The end of the question is on the screen already.
    world.model.control(|c| c.reply = None);
    for n in 1..=4 {
        world.send_wait("api", &format!("SAY: seal-{n}"), &[]);
        world.sm(&["wait", "api", "--for", "idle"]).exits(0);
        let output = world.sm(&["output", "api"]).exits(0).out;
        assert_eq!(output.matches(&format!("seal-{n}")).count(), 2, "{output}");
    }

    let reply = "First line, *with* `marks`.\n\n- one\n- two";
    world.model.control(|c| c.reply = Some(reply.to_owned()));
    let asked = world.sm(&["ask", "api", "and", "now?"]).exits(0);
    assert_eq!(
        (asked.out, asked.err),
        (format!("{reply}\n"), String::new())
    );
    world.model.control(|c| c.reply = None);
    // Text before a tool is not the reply.
    let asked = world.sm(&["ask", "api", "RUN: echo penguin"]).exits(0);
    assert_eq!(asked.out, "RUN done\n");
    let asked = world
        .sm(&["ask", "api", "--json", "once more"])
        .exits(0)
        .json();
    assert_eq!(asked["done"], true);
    let said = asked["reply"].as_str().unwrap();
    assert!(said.starts_with("Fake reply to: once more"), "{asked:#}");
    assert_eq!(asked["message"]["state"], "consumed");

    // What takes longer stays with the session.
    let asked = world.sm(&["ask", "api", "HOLD: held", "--timeout", "2"]);
    let asked = asked.exits(3);
    assert!(asked.err.contains("still at it"), "{}", asked.err);
    assert_eq!(asked.out, "");
    world.model.release("held");
    world.wait_state("api", "idle");
}
