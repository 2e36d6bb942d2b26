//! The agent ends right after it took a message, with or without its terminal.

use super::{DEADLINE, World, occurrences};
use rustix::process::{Pid, Signal};
use sm_testkit::process::Process;
use sm_testkit::wait_until;

/// `kill -9` of the agent alone.
pub fn kill_agent(world: &World) {
    let pid = world.show("api")["pid"].as_i64().unwrap();
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    Process::find(pid).unwrap().signal(Signal::KILL);
}

/// All terminals of this world are gone.
pub fn kill_tmux(world: &World) {
    let socket = world.show("api")["tmux"]["socket"].clone();
    let ran = std::process::Command::new("tmux")
        .args(["-S", socket.as_str().unwrap(), "kill-server"])
        .status();
    assert!(ran.unwrap().success());
}

/// Waits until the agent's end is known, and starts it again in its conversation.
#[track_caller]
pub fn restore_when_ended(world: &World) {
    let ended = |state: &str| matches!(state, "exited" | "lost");
    let gone = wait_until(DEADLINE, || {
        ended(world.show("api")["state"].as_str().unwrap()).then_some(())
    });
    assert!(gone.is_some(), "{}", world.about("api"));
    world.sm(&["restore", "api", "--detach"]).exits(0);
}

/// Whatever the agent's record says: after a restore at once each text is in the conversation, once.
/// At least three rounds, and more of them as long as nothing had to be given again. Gives how many
/// had to be.
pub fn each_text_survives(world: &World, args: &[&str], kill: impl Fn(&World)) -> usize {
    // no answer repeats a text that is counted
    world
        .model
        .control(|control| control.reply = Some("ok".into()));
    world.start_idle("api", args);
    let mut sent: Vec<(String, String)> = Vec::new();
    let given_again = |id: &str| {
        let known = world.wait_message("api", id, "consumed");
        let reason = known["reason"].as_str().unwrap_or_default();
        reason.contains("given again")
    };
    for n in 0..8 {
        if n >= 3 && sent.iter().any(|(id, _)| given_again(id)) {
            break;
        }
        let text = format!("taken right before the end, {n}.");
        let message = world.send_wait("api", &text, &[]);
        kill(world);
        restore_when_ended(world);
        world.wait_state("api", "idle");
        sent.push((message["id"].as_str().unwrap().to_owned(), text));
        let closing = format!("closing words {n}");
        world.send_wait("api", &closing, &[]);
        let last = world.request_with(&closing);
        for (id, text) in &sent {
            let known = world.wait_message("api", id, "consumed");
            assert_eq!(
                occurrences(&last, text),
                1,
                "{known}\n{}",
                world.about("api")
            );
        }
        world.wait_state("api", "idle");
    }
    sent.iter().filter(|(id, _)| given_again(id)).count()
}
