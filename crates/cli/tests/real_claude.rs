//! `sm` on the real Claude Code, against the scripted model.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod common;

use common::World;

const MODEL: [&str; 5] = ["--", "--model", "claude-sonnet-4-5", "--allowedTools", "Bash"];

#[test]
fn starts_to_idle() {
    let Some(world) = World::claude("starts_to_idle") else {
        return;
    };
    let shown = world.start_idle("api", &MODEL);
    assert_eq!(shown["agent"], "claude");
    assert_eq!(shown["generation"], 1);
    assert!(shown["conversation_id"].is_string());
    assert!(shown["pid"].is_u64());
    assert_eq!(world.main_requests().len(), 0, "nothing was said to the model");
}

#[test]
fn texts_arrive_byte_for_byte_and_proven() {
    let Some(world) = World::claude("texts_arrive_byte_for_byte_and_proven") else {
        return;
    };
    world.start_idle("api", &MODEL);
    let lines: String = (0..200).map(|n| format!("line {n} of two hundred\n")).collect();
    let big: String = (0..1000).map(|n| format!("{n:04} sixty kilobytes, all of which have to arrive, é ü\n")).collect();
    let texts = [
        "one line".to_owned(),
        lines.trim_end().to_owned(),
        lines,
        big.trim_end().to_owned(),
        "/help is a text here".to_owned(),
        "!ls is a text here".to_owned(),
        "# is a text here".to_owned(),
        "a\ttab, an emoji 👩‍👩‍👧 and é".to_owned(),
        "a short one with a line end\n".to_owned(),
        "ends with a backslash\\".to_owned(),
    ];
    for text in &texts {
        let t = std::time::Instant::now();
        let message = world.send_wait("api", text, &[]);
        eprintln!("{:?} way {} proof {} state {}", common::shorten(text).chars().take(30).collect::<String>(), message["way"], message["proof"], message["state"]);
        let request = world.request_with(text);
        eprintln!("  {} occurrences {:?}", common::occurrences(&request, text), t.elapsed());
        world.wait_state("api", "idle");
    }
    let last = world.main_requests().pop().unwrap();
    for text in &texts {
        eprintln!("{} {:?}", common::occurrences(&last, text), common::shorten(text).chars().take(30).collect::<String>());
    }
}
