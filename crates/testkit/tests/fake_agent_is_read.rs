//! What `sm` reads of an agent, it reads of the fake one too: screen, title, status file and
//! transcript go through the same parsers.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::time::Duration;

use sm_agents::claude::{
    screen::read_screen, settings, status, title::read_title, transcript::Tail,
};
use sm_core::signal::{Activity, Came, Composer, Fact, PersonNeed};
use sm_testkit::clean::CleanEnv;
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

const DEADLINE: Duration = Duration::from_secs(20);

struct Fake {
    tmux: Tmux,
    env: CleanEnv,
}

impl Fake {
    /// The hooks are those of a real launch, answered by a program that plays `sm-hook`.
    fn start(hook_program: &str) -> Self {
        let env = CleanEnv::new().unwrap();
        let program = env.path().join("sm-hook");
        std::fs::write(
            &program,
            hook_program.replace("$DIR", env.path().to_str().unwrap()),
        )
        .unwrap();
        std::fs::set_permissions(
            &program,
            std::os::unix::fs::PermissionsExt::from_mode(0o755),
        )
        .unwrap();
        let settings = settings::build(program.to_str().unwrap(), None, None, &[]).to_string();
        let tmux = Tmux::new().unwrap();
        let argv = [env!("CARGO_BIN_EXE_fake-agent"), "--settings", &settings];
        tmux.start("fake", (100, 30), &env.project(), &env.env(), &argv)
            .unwrap();
        let fake = Self { tmux, env };
        fake.wait_for(&(Composer::Empty, Activity::Idle), None);
        fake
    }

    fn screen(&self, ours: Option<&str>) -> (Composer, Activity) {
        let shown = self
            .tmux
            .call(&["capture-pane", "-e", "-p", "-t", "=fake:"])
            .unwrap();
        let lines: Vec<String> = shown.lines().map(str::to_owned).collect();
        let cursor = self.tmux.show("fake", "#{cursor_x} #{cursor_y}").unwrap();
        let (x, y) = cursor.split_once(' ').unwrap();
        read_screen(&lines, x.parse().unwrap(), y.parse().unwrap(), ours)
    }

    fn wait_for(&self, expected: &(Composer, Activity), ours: Option<&str>) {
        let seen = wait_until(DEADLINE, || (self.screen(ours) == *expected).then_some(()));
        let shown = self.tmux.screen("fake").unwrap_or_default();
        assert!(
            seen.is_some(),
            "never {expected:?}, but {:?}:\n{shown}",
            self.screen(ours)
        );
    }

    fn submit(&self, text: &str) {
        self.tmux.paste("fake", text).unwrap();
        self.tmux.key("fake", "Enter").unwrap();
    }

    fn title(&self) -> Activity {
        read_title(&self.tmux.show("fake", "#{pane_title}").unwrap())
    }

    fn status(&self) -> sm_core::signal::StatusReading {
        let pid = self
            .tmux
            .show("fake", "#{pane_pid}")
            .unwrap()
            .parse()
            .unwrap();
        let path = status::status_path(&self.env.home().join(".claude"), pid);
        let read = || status::parse(&std::fs::read(&path).ok()?);
        wait_until(DEADLINE, read).unwrap()
    }

    fn facts(&self) -> Vec<Fact> {
        let id = self.status().conversation.unwrap();
        let config = self.env.home().join(".claude");
        let path = status::transcript_path(&config, &self.env.project(), &id);
        Tail::new(id).feed(&std::fs::read(path).unwrap_or_default())
    }
}

#[test]
fn its_screen_title_and_status_are_read() {
    let fake = Fake::start("#!/bin/sh\ncat >/dev/null\n");
    assert_eq!(fake.title(), Activity::IdleOrWaiting);
    let status = fake.status();
    assert_eq!(status.activity, Activity::Idle);
    assert!(status.process.start > 0);

    fake.tmux.paste("fake", "some text").unwrap();
    fake.wait_for(&(Composer::Ours, Activity::Idle), Some("some text"));
    fake.wait_for(&(Composer::Draft, Activity::Idle), Some("other text"));
    fake.tmux.key("fake", "C-s").unwrap();
    fake.wait_for(&(Composer::Stashed, Activity::Idle), None);
    fake.tmux.key("fake", "C-s").unwrap();
    fake.tmux.key("fake", "C-c").unwrap();
    fake.wait_for(&(Composer::Empty, Activity::Idle), None);
    let long = "a line of a long text\n".repeat(300);
    fake.tmux.paste("fake", &long).unwrap();
    fake.wait_for(&(Composer::Ours, Activity::Idle), Some(&long));
    fake.tmux.key("fake", "C-c").unwrap();
    fake.tmux.type_text("fake", "!").unwrap();
    fake.wait_for(&(Composer::Shell, Activity::Idle), None);
    fake.tmux.key("fake", "BSpace").unwrap();

    let gate = fake.env.path().join("gate");
    fake.submit(&format!("HOLD: {}\nASK: true", gate.display()));
    fake.wait_for(&(Composer::Empty, Activity::Busy), None);
    assert_eq!(
        (fake.title(), fake.status().activity),
        (Activity::Busy, Activity::Busy)
    );
    std::fs::write(gate, "").unwrap();
    let waiting = wait_until(DEADLINE, || {
        matches!(
            fake.screen(None),
            (
                Composer::Hidden,
                Activity::Waiting(PersonNeed::Permission(_))
            )
        )
        .then_some(())
    });
    assert!(waiting.is_some(), "{:?}", fake.screen(None));
    assert!(matches!(
        fake.status().activity,
        Activity::Waiting(PersonNeed::Permission(_))
    ));
}

#[test]
fn its_transcript_proves_every_way() {
    let fake = Fake::start(
        r#"#!/bin/sh
case "$2" in
mailbox)
    while ! mv $DIR/mail $DIR/mail.$$ 2>/dev/null; do kill -0 $PPID || exit 0; sleep 0.02; done
    cat $DIR/mail.$$ >&2
    exit 2 ;;
PostToolBatch) echo '{"hookSpecificOutput":{"hookEventName":"PostToolBatch","additionalContext":"by hook"}}' ;;
Stop) mkdir $DIR/stopped 2>/dev/null && echo '{"decision":"block","reason":"by stop"}' ;;
esac
cat >/dev/null
"#,
    );
    fake.submit("RUN: true");
    let ended = |facts: &[Fact]| {
        facts
            .iter()
            .filter(|f| matches!(f, Fact::TurnEnded { broken: None, .. }))
            .count()
    };
    let first = wait_until(DEADLINE, || (ended(&fake.facts()) == 1).then_some(()));
    assert!(first.is_some(), "{:?}", fake.facts());
    let mail = fake.env.path().join("mail.new");
    std::fs::write(&mail, "  by mail\n").unwrap();
    std::fs::rename(&mail, fake.env.path().join("mail")).unwrap();
    let second = wait_until(DEADLINE, || (ended(&fake.facts()) == 2).then_some(()));
    assert!(second.is_some(), "{:?}", fake.facts());
    let facts = fake.facts();
    let texts: Vec<(&str, Came)> = facts
        .iter()
        .filter_map(|fact| match fact {
            Fact::UserText { text, came, .. } => Some((text.as_str(), *came)),
            _ => None,
        })
        .collect();
    let expected = [
        ("RUN: true", Came::Prompt),
        ("by hook", Came::HookContext),
        ("by stop", Came::StopFeedback),
        ("  by mail\n", Came::Prompt),
    ];
    assert_eq!(texts, expected);
    assert!(facts.iter().any(|fact| matches!(fact, Fact::Usage(_))));
}
