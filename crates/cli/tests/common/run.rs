//! A person who has put `sm run` before an agent's command, in a terminal of their own, and walks
//! away. The terminal is tmux's; what the agent does at each step is decided by the test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sm_testkit::clean::binary;
use sm_testkit::model::{Request, When, conversation_of, is_main, texts_of};
use sm_testkit::tmux::Tmux;
use sm_testkit::wait_until;

use super::World;

/// Several starts of an agent may lie in between.
pub const PATIENCE: Duration = Duration::from_secs(90);
pub const PANE: &str = "person";

pub struct Walk {
    pub tmux: Tmux,
    pub world: World,
}

impl Walk {
    pub fn new(world: World) -> Self {
        let walk = Self {
            tmux: Tmux::new().unwrap(),
            world,
        };
        // A step of the work: says that it is reached, and waits until the test lets it go on.
        let step = "echo x >> \"$HOME/steps.$1\"\n\
             n=$(wc -l < \"$HOME/steps.$1\")\n\
             until [ -e \"$HOME/go.$1.$n\" ]; do sleep 0.05; done\n\
             echo \"$1 $n is done\"\n";
        std::fs::write(walk.world.env.project().join("step"), step).unwrap();
        walk
    }

    fn home(&self, name: &str) -> PathBuf {
        self.world.env.home().join(name)
    }

    /// What the model does at prompts that hold a text.
    pub fn when(&self, rules: &[(&str, &str)]) {
        self.world.model.control(|control| {
            control.reply = Some("ok".into());
            control.when = rules
                .iter()
                .map(|(has, act)| When {
                    has: (*has).to_owned(),
                    act: (*act).to_owned(),
                })
                .collect();
        });
    }

    /// What the model says its context holds, from its next answer on.
    pub fn tokens(&self, tokens: u64) {
        self.world.model.control(|control| {
            control.input_tokens = tokens;
            control.cache_read_input_tokens = 0;
            control.cache_creation_input_tokens = 0;
        });
    }

    /// Waits until this step is reached for the n-th time.
    #[track_caller]
    pub fn reached(&self, step: &str, n: usize) {
        let file = self.home(&format!("steps.{step}"));
        let there = || {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            (text.lines().count() >= n).then_some(())
        };
        assert!(
            wait_until(PATIENCE, there).is_some(),
            "{step} {n} was not reached\n{}",
            self.about()
        );
    }

    pub fn go_on(&self, step: &str, n: usize) {
        std::fs::write(self.home(&format!("go.{step}.{n}")), "").unwrap();
    }

    /// `sm` in a terminal of its own.
    pub fn run(&self, name: &str, args: &[&str]) {
        self.command(name, &binary("sm").unwrap(), args);
    }

    /// Types a command into a terminal of its own. When it ends, its code is written down.
    pub fn command(&self, name: &str, program: &Path, args: &[&str]) {
        let script = "PATH=$1; export PATH; shift; \"$@\"; echo $? > \"$HOME/code.$0\"; exec cat";
        let mut argv: Vec<String> = ["sh", "-c", script, name].map(str::to_owned).into();
        // tmux gives what it runs its own.
        let path = self.world.env.env().into_iter().find(|(k, _)| k == "PATH");
        argv.push(path.unwrap().1);
        argv.push(program.to_string_lossy().into_owned());
        argv.extend(args.iter().map(|arg| (*arg).to_owned()));
        let (env, cwd) = (self.world.env.env(), self.world.env.project());
        self.tmux.start(name, (120, 40), &cwd, &env, &argv).unwrap();
    }

    pub fn start(&self, args: &[&str]) {
        self.run(PANE, args);
    }

    /// The code that the command has ended with.
    #[track_caller]
    pub fn code_of(&self, name: &str) -> i32 {
        let file = self.home(&format!("code.{name}"));
        let ended = || std::fs::read_to_string(&file).ok()?.trim().parse().ok();
        wait_until(PATIENCE, ended).unwrap_or_else(|| panic!("it goes on\n{}", self.about()))
    }

    #[track_caller]
    pub fn code(&self) -> i32 {
        self.code_of(PANE)
    }

    /// Everything that is to be seen, and was.
    pub fn seen_of(&self, name: &str) -> String {
        let target = format!("={name}:");
        self.tmux
            .call(&["capture-pane", "-p", "-S", "-", "-t", &target])
            .unwrap_or_default()
    }

    pub fn seen(&self) -> String {
        self.seen_of(PANE)
    }

    #[track_caller]
    pub fn wait_seen(&self, text: &str) {
        let there = || self.seen().contains(text).then_some(());
        assert!(
            wait_until(PATIENCE, there).is_some(),
            "{text:?} is not to be seen\n{}",
            self.about()
        );
    }

    /// Types a line and sends it, until this is so. An agent may take an Enter for a part of the
    /// typing, as any person finds out: it is pressed again.
    #[track_caller]
    pub fn say(&self, text: &str, until: impl Fn() -> bool) {
        self.tmux.type_text(PANE, text).unwrap();
        self.wait_seen(text);
        for _ in 0..20 {
            self.tmux.key(PANE, "Enter").unwrap();
            let done = || until().then_some(());
            if wait_until(Duration::from_secs(3), done).is_some() {
                return;
            }
        }
        panic!("{text:?} had no effect\n{}", self.about());
    }

    /// Waits until `handoff.log` says so.
    #[track_caller]
    pub fn wait_logged(&self, text: &str) {
        let log = self.home(".claude/handoff/handoff.log");
        let there = || {
            let log = std::fs::read_to_string(&log).unwrap_or_default();
            log.contains(text).then_some(())
        };
        assert!(
            wait_until(PATIENCE, there).is_some(),
            "{text:?} is not logged\n{}",
            self.about()
        );
    }

    /// Asks for a fresh context as another program would: at once.
    #[track_caller]
    pub fn restart_now(&self) {
        let current = std::fs::read_to_string(self.home(".claude/.current-session")).unwrap();
        std::fs::write(self.home(".claude/.restart-session"), current).unwrap();
    }

    /// A person who writes while contexts are left, on an agent whose every context does one step
    /// of the work and is full then: a draft is waited for; one that cannot be waited for goes
    /// along, and so does what is typed while the agents change. `over` knows from the screen that a
    /// turn is over: Claude keeps what is submitted in the very moment in its composer, too.
    #[track_caller]
    pub fn writes_while_contexts_change(&self, low: u64, over: impl Fn(&str) -> bool) {
        let (first, second, more) = ("first half of a thought", "second half", " and the rest");
        self.reached("work", 1);
        self.tmux.type_text(PANE, first).unwrap();
        self.wait_seen(first);
        self.go_on("work", 1);
        self.wait_logged("the context is left as soon as the person is done writing");
        let over = || over(&self.seen()).then_some(());
        assert!(wait_until(PATIENCE, over).is_some(), "{}", self.about());
        assert_eq!(self.contexts().len(), 1, "{}", self.about());
        self.tokens(low);
        // Submitted, it has its turn; then the context is left.
        self.tmux.key(PANE, "Enter").unwrap();
        self.reached("work", 2);
        let contexts = self.contexts();
        let said = |context: &[Request], text: &str| {
            let texts = context.iter().flat_map(texts_of);
            texts.filter(|said| said.trim() == text).count() > 0
        };
        assert!(said(&contexts[0], first), "{}", self.about());
        self.go_on("work", 2);
        self.wait_answered(1);
        // A draft, and somebody who wants a fresh context at once.
        self.tmux.type_text(PANE, second).unwrap();
        self.wait_seen(second);
        self.restart_now();
        self.wait_logged("a draft in the composer is kept in ");
        self.tmux.type_text(PANE, more).unwrap();
        self.reached("work", 3);
        let whole = format!("{second}{more}");
        self.wait_seen(&whole);
        self.go_on("work", 3);
        self.wait_answered(2);
        self.wait_seen(&whole);
        let sent = || said(&self.contexts()[2], &whole);
        for _ in 0..20 {
            self.tmux.key(PANE, "Enter").unwrap();
            if wait_until(Duration::from_secs(3), || sent().then_some(())).is_some() {
                return;
            }
        }
        panic!("{whole:?} was not taken\n{}", self.about());
    }

    /// A person in a shell of theirs who stops the agent with Ctrl+Z and brings it back with `fg`.
    /// `line` starts it.
    #[track_caller]
    pub fn stops_and_goes_on(&self, line: &str, goodbye: &str) {
        self.command(
            PANE,
            Path::new("/bin/bash"),
            &["--norc", "--noprofile", "-i"],
        );
        let enter = |text: &str| {
            self.tmux.type_text(PANE, text).unwrap();
            self.tmux.key(PANE, "Enter").unwrap();
        };
        enter(&format!("{} {line}", binary("sm").unwrap().display()));
        self.reached("work", 1);
        self.go_on("work", 1);
        self.wait_seen("RUN done");
        for n in 1..=2 {
            self.tmux.key(PANE, "C-z").unwrap();
            let stopped = || self.seen().matches("[1]+  Stopped").count() >= n;
            let stopped = wait_until(PATIENCE, || stopped().then_some(()));
            assert!(stopped.is_some(), "{}", self.about());
            enter(&format!("echo the shell is back $((40 + {n}))"));
            self.wait_seen(&format!("the shell is back 4{n}"));
            enter("fg");
            let text = format!("go on after stop {n}");
            let taken = || {
                let contexts = self.contexts();
                let mut texts = contexts.iter().flatten().flat_map(texts_of);
                texts.any(|said| said.trim() == text)
            };
            // What is typed before the agent has its terminal back may be thrown away by it.
            for _ in 0..20 {
                self.tmux.type_text(PANE, "g").unwrap();
                let seen = || self.seen().contains("› g") || self.seen().contains("❯\u{a0}g");
                if wait_until(Duration::from_secs(3), || seen().then_some(())).is_some() {
                    break;
                }
            }
            self.tmux.key(PANE, "C-u").unwrap();
            self.say(&text, taken);
        }
        // One prompt of the shell at first, two after each stop, one at the end.
        self.say(goodbye, || self.seen().matches("bash-").count() >= 6);
        enter("exit");
        assert_eq!(self.code(), 0, "{}", self.about());
    }

    /// Types the agent's own goodbye; the code that the command ends with.
    #[track_caller]
    pub fn leave(&self, goodbye: &str) -> i32 {
        let file = self.home(&format!("code.{PANE}"));
        self.say(goodbye, || file.is_file());
        self.code()
    }

    /// The requests of each context, in order.
    pub fn contexts(&self) -> Vec<Vec<Request>> {
        let mut found: Vec<(String, Vec<Request>)> = Vec::new();
        for request in self.world.model.requests() {
            let Some(of) = conversation_of(&request).map(str::to_owned) else {
                continue;
            };
            if !is_main(&request) {
                continue;
            }
            match found.iter_mut().find(|(known, _)| *known == of) {
                Some((_, requests)) => requests.push(request),
                None => found.push((of, vec![request])),
            }
        }
        found.into_iter().map(|(_, requests)| requests).collect()
    }

    /// Waits until so many contexts have asked their model something.
    #[track_caller]
    pub fn wait_contexts(&self, n: usize) -> Vec<Vec<Request>> {
        let there = || Some(self.contexts()).filter(|contexts| contexts.len() >= n);
        wait_until(PATIENCE, there)
            .unwrap_or_else(|| panic!("there are no {n} contexts\n{}", self.about()))
    }

    /// Waits until this context has been told what its tool has printed.
    #[track_caller]
    fn wait_answered(&self, context: usize) {
        let done = || (self.contexts().get(context)?.len() >= 2).then_some(());
        assert!(wait_until(PATIENCE, done).is_some(), "{}", self.about());
    }

    /// For a message about a failure.
    pub fn about(&self) -> String {
        let log = self.world.env.home().join(".claude/handoff/handoff.log");
        format!(
            "── screen\n{}\n── handoff.log\n{}── contexts: {:?}",
            self.seen().trim_end(),
            std::fs::read_to_string(log).unwrap_or_default(),
            self.contexts().iter().map(Vec::len).collect::<Vec<_>>()
        )
    }
}

/// The id of the handoff that a context's first request holds inline, and was told to go on from.
#[track_caller]
pub fn handed(context: &[Request]) -> String {
    let texts = texts_of(&context[0]).join("\n");
    let begin = "=== HANDOFF LOADED (ID: ";
    let at = texts
        .find(begin)
        .unwrap_or_else(|| panic!("no handoff in {texts}"));
    let id = texts[at + begin.len()..].split(')').next().unwrap();
    assert!(texts.contains("=== END HANDOFF ==="), "{texts}");
    assert!(
        texts.contains(&format!("Continue from handoff (ID: {id})")),
        "{texts}"
    );
    id.to_owned()
}
