//! The terminal itself: typing, sizes, looks, and how it is left.

use std::io::Write;

use sm_testkit::wait_until;

use crate::support::{DEADLINE, Person};

#[test]
fn keys_are_echoed_while_a_reply_streams() {
    let person = Person::sits_down("");
    person.says("HOLD: reply");
    assert!(person.model.wait_for_hold("reply", DEADLINE));
    person.sees("Working… (esc to cancel)");
    person.types("typed meanwhile");
    person.sees("❯ typed meanwhile");
    person.presses("Enter");
    person.sees("next: typed meanwhile");
    person.sees("1 queued");
    person.presses("Escape");
    person.sees("interrupted");
    person.sees_no("Working");
    assert!(
        person.model.wait_for_abandoned(1, DEADLINE),
        "the model is not kept waiting"
    );
}

#[test]
fn what_is_finished_is_in_the_scrollback_once_whatever_the_size_does() {
    let person = Person::sits_down("");
    let long: String = (0..60)
        .map(|n| format!("- item number {n} of a long list\n"))
        .collect();
    person.model.control(|c| c.reply = Some(long.clone()));
    person.talks("go", "• item number 59");
    for (columns, rows) in [(60, 20), (200, 50), (33, 9), (80, 24)] {
        person.resizes(columns, rows);
        let settled = wait_until(DEADLINE, || {
            let screen = person.screen();
            let status = screen.matches("fake/fake-1").count();
            (status == 1 && screen.trim_end().lines().last()?.contains("fake/fake-1")).then_some(())
        });
        assert!(settled.is_some(), "{columns}x{rows}:\n{}", person.screen());
    }
    person.types("still here");
    person.sees("❯ still here");
    let all = person.all();
    for n in 0..60 {
        let item = format!("• item number {n} of a long list\n");
        assert_eq!(all.matches(&item).count(), 1, "{item}\n{all}");
    }
    assert_eq!(all.matches("fake/fake-1").count(), 1, "{all}");
    assert_eq!(all.matches("❯ still here").count(), 1, "{all}");
}

#[test]
fn a_command_is_asked_about_and_runs_when_allowed() {
    let person = Person::sits_down("");
    person.says("RUN: echo it-ran > proof.txt");
    person.sees("Allow to run");
    person.sees("y yes · n no · a always");
    assert!(!person.repo().join("proof.txt").exists());
    // Enter alone answers nothing, and neither does a letter with another behind it.
    person.presses("Enter");
    person.sees("y yes · n no · a always");
    person.types("ay");
    person.sees("❯ ay");
    person.presses("C-c");
    person.sees("y yes · n no · a always");
    assert!(!person.repo().join("proof.txt").exists());
    person.presses("y");
    person.sees("● bash echo it-ran");
    person.reads("RUN done");
    let proof = std::fs::read_to_string(person.repo().join("proof.txt")).unwrap();
    assert_eq!(proof, "it-ran\n");
}

#[test]
fn an_answer_typed_ahead_is_text() {
    let person = Person::sits_down("");
    // The keys are in the terminal before the question can be.
    person.types("RUN: echo no > proof.txt");
    person.sees("proof.txt");
    person
        .tmux
        .call(&["send-keys", "-t", "=t:", "Enter", "y", "y", "y"])
        .unwrap();
    person.sees("Allow to run");
    person.sees("❯ yyy");
    assert!(!person.repo().join("proof.txt").exists());
    person.presses("C-c");
    person.sees("y yes · n no · a always");
    person.presses("n");
    person.presses("Enter");
    person.sees("not allowed");
    assert!(!person.repo().join("proof.txt").exists());
}

/// Everything that a tool was answered with, as the model was told.
fn refusals(person: &Person) -> String {
    let asked = person.model.requests().pop();
    asked.map_or(String::new(), |asked| asked.body["messages"].to_string())
}

/// What is on the screen is asked of the model a moment later.
#[track_caller]
fn is_told(person: &Person, refusal: &str) {
    let told = || refusals(person).contains(refusal).then_some(());
    assert!(
        sm_testkit::wait_until(crate::support::DEADLINE, told).is_some(),
        "{}",
        refusals(person)
    );
}

#[test]
fn a_sentence_typed_at_a_question_runs_nothing_and_reaches_the_model() {
    let person = Person::sits_down("");
    for (number, sentence) in ["stop and use yarn", "yarn is better", "another way, please"]
        .into_iter()
        .enumerate()
    {
        let proof = format!("proof{number}.txt");
        person.says(&format!("RUN: echo ran > {proof}"));
        person.sees("y yes · n no · a always");
        // As fast as people type: each key is read by itself.
        for c in sentence.chars() {
            person.types(&c.to_string());
            std::thread::sleep(std::time::Duration::from_millis(120));
        }
        person.sees(&format!("❯ {sentence}"));
        person.presses("Enter");
        person.sees(&format!("instead: {sentence}"));
        person.sees_no("Working");
        person.sees_no("Allow to run");
        assert!(!person.repo().join(&proof).exists(), "{}", person.all());
        let told = format!("the person does not want this. Instead: {sentence}");
        is_told(&person, &told);
    }
    // `n` offers it too.
    person.says("RUN: echo ran > proof9.txt");
    person.sees("y yes · n no · a always");
    person.presses("n");
    person.sees("What should it do instead?");
    person.says("ask me first");
    person.sees("instead: ask me first");
    person.sees_no("Working");
    is_told(&person, "Instead: ask me first");
    assert!(!person.repo().join("proof9.txt").exists());
}

#[test]
fn the_terminal_is_as_it_was_after_every_way_out() {
    let left = |person: &Person| {
        person.sees("left with");
        person.types("stty -a | grep -q ' icanon' && stty -a | grep -q ' echo ' && echo co''oked");
        person.presses("Enter");
        person.sees("\ncooked");
        let cursor = person.tmux.show("t", "#{cursor_flag}").unwrap();
        assert_eq!(cursor, "1", "the cursor is seen");
        assert!(
            !person.screen().contains("fake/fake-1 ·"),
            "{}",
            person.screen()
        );
    };
    let person = Person::sits_down("");
    person.types("/quit");
    person.sees("› /quit");
    person.presses("Enter");
    left(&person);
    person.sees("left with 0");
    for (signal, code) in [("TERM", "143"), ("HUP", "129")] {
        let person = Person::sits_down("");
        let shell = person.tmux.show("t", "#{pane_pid}").unwrap();
        let killed = std::process::Command::new("pkill")
            .args([&format!("-{signal}"), "-P", &shell])
            .status()
            .unwrap();
        assert!(killed.success());
        left(&person);
        person.sees(&format!("left with {code}"));
    }
}

#[test]
fn ctrl_z_gives_the_terminal_to_the_shell_and_fg_takes_it_back() {
    let person = Person::new("");
    person.starts_in_a_shell();
    person.sees("fake/fake-1");
    person.types("a draft");
    person.sees("❯ a draft");
    person.presses("C-z");
    person.sees("Stopped");
    person.sees("shell$");
    assert!(!person.screen().contains("a draft"), "{}", person.screen());
    person.types("echo the shell listens");
    person.presses("Enter");
    person.sees("\nthe shell listens");
    person.types("fg");
    person.presses("Enter");
    person.sees("❯ a draft");
    person.types("ed again");
    person.sees("❯ a drafted again");
    assert_eq!(
        person.all().matches("❯ a draft").count(),
        1,
        "{}",
        person.all()
    );
}

#[test]
fn a_paste_is_one_thing_and_a_large_one_is_folded() {
    let person = Person::sits_down("");
    person.tmux.paste("t", "two\nlines").unwrap();
    person.sees("❯ two\n  lines");
    person.presses("C-c");
    person.sees_no("lines");
    let large: String = (0..120).map(|n| format!("line {n}\n")).collect();
    person.tmux.paste("t", &large).unwrap();
    person.sees("[paste #1 +120 lines]");
    person.presses("Enter");
    person.sees_no("Working");
    let whole =
        |request: &sm_testkit::model::Request| request.body.to_string().contains("line 119");
    let sent = person.model.wait_for_request(whole, DEADLINE);
    assert!(sent.is_some(), "the model got all of it");
}

#[test]
fn narrow_without_colours_and_without_unicode() {
    let person = Person::new("");
    person.starts(
        (60, 20),
        &[("LANG", "C"), ("LC_ALL", "C"), ("NO_COLOR", "1")],
        &[],
    );
    person.sees("fake/fake-1 |");
    person
        .model
        .control(|c| c.reply = Some("# Title\n\n- **bold** “quoted”\n".into()));
    person.talks("go", "- bold \"quoted\"");
    let args = ["capture-pane", "-p", "-e", "-S", "-", "-t", "=t:"];
    let coloured = person.tmux.call(&args).unwrap();
    assert!(coloured.is_ascii(), "{coloured}");
    for colour in (30..=38).chain(90..=97) {
        let sequence = format!("\x1b[{colour}");
        assert!(!coloured.contains(&sequence), "{coloured:?}");
    }
}

#[test]
fn plain_mode_is_lines_only() {
    let person = Person::new("");
    person.starts((80, 24), &[], &["--plain"]);
    person.sees("\n>");
    person.types("SAY: hello plain");
    person.presses("Enter");
    person.sees("\nhello plain");
    person.types("RUN: echo ran > proof.txt");
    person.presses("Enter");
    person.sees("y: yes, n: no, a: always");
    person.types("yarn, please");
    person.presses("Enter");
    person.sees("instead: yarn, please");
    person.sees("\n>");
    assert!(!person.repo().join("proof.txt").exists());
    person.types("RUN: echo again > proof.txt");
    person.presses("Enter");
    person.sees("Allow to run `echo again > proof.txt`?");
    person.sees("always, or what to do instead");
    let answered = wait_until(DEADLINE, || {
        let asked = person.screen().matches("y: yes, n: no").count();
        (asked == 2).then(|| person.types("y"))
    });
    assert!(answered.is_some(), "{}", person.all());
    person.presses("Enter");
    let proof = person.repo().join("proof.txt");
    let ran = wait_until(DEADLINE, || proof.exists().then_some(()));
    assert!(ran.is_some(), "{}", person.all());
    person.types("/quit");
    person.presses("Enter");
    person.sees("left with 0");
}

#[test]
fn lines_from_a_pipe_are_answered_before_the_end() {
    let person = Person::new("");
    let mut agent = std::process::Command::new(env!("CARGO_BIN_EXE_sm-agent"))
        .arg("agent")
        .current_dir(person.repo())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("HOME", person.home.path())
        .env("SM_HOME", person.home.path())
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = agent.stdin.take().unwrap();
    stdin.write_all(b"RUN: echo ran > proof.txt\n").unwrap();
    drop(stdin);
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("RUN done"), "{said}");
    assert!(
        said.contains("not allowed"),
        "nobody could allow it: {said}"
    );
    assert!(!person.repo().join("proof.txt").exists());
    assert!(!said.contains('\x1b') && said.is_ascii(), "{said:?}");
    assert!(said.contains("x bash echo ran > proof.txt"), "{said}");
}
