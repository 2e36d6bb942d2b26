//! `sm-hook launch <session> <launch>`: the parent of an agent in its pane.
//!
//! It fetches the agent's arguments and environment from the daemon's socket and keeps them in
//! memory only: its own arguments and environment, which `ps` shows, hold nothing of them. It
//! stays for as long as the agent runs, says how it ended, and starts it again if the daemon
//! wants that. It never decides by itself to start anything a second time.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use sm_client::daemon::{self, Start};
use sm_client::json::{self, Value};
use sm_client::spool::Completeness;
use sm_client::{Client, HttpError, Paths, Response, process, wire};

use crate::caller::Caller;
use crate::platform::{self, Terminal};

/// How long a missing daemon is waited for, before the agent starts and after it ended.
const PATIENCE: Duration = Duration::from_secs(10);
/// One try of a report; the agent's end must be noticed in time.
const ONE_REPORT: Duration = Duration::from_secs(3);
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// The daemon holds the question open itself; this is for one that does not.
const ASK_AGAIN: Duration = Duration::from_millis(10);

const NOT_STARTED: i32 = 127;
const NO_DAEMON: i32 = 1;

/// What the pane knows and the daemon does not.
const PANE_VARS: [&str; 3] = ["TMUX", "TMUX_PANE", "TERM"];

pub fn run(session: &str, launch: &str) -> i32 {
    if !wire::is_plain_word(session) || !wire::is_plain_word(launch) {
        return complain("the session or launch is not a plain word", NO_DAEMON);
    }
    let client = match Paths::from_env() {
        Ok(paths) => Client::new(paths),
        Err(error) => return complain(&error.to_string(), NO_DAEMON),
    };
    let mut launcher = Launcher {
        client,
        session: session.to_owned(),
        launch: launch.to_owned(),
        secret: wire::variable(wire::LAUNCH_KEY_VAR),
    };
    let plan = match launcher.fetch() {
        Ok(plan) => plan,
        Err(why) => return complain(&why, NO_DAEMON),
    };
    launcher.secret = plan.var(wire::SECRET_VAR);
    launcher.keep_running(plan)
}

fn complain(what: &str, code: i32) -> i32 {
    let _ = writeln!(std::io::stderr(), "sm: {what}");
    code
}

/// What to run, as the daemon says it.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    argv: Vec<String>,
    env: Vec<(String, String)>,
    cwd: String,
}

impl Plan {
    fn parse(body: &[u8]) -> Option<Self> {
        let value = json::parse(body)?;
        let env = value
            .get("env")?
            .as_array()?
            .iter()
            .map(|pair| match pair.as_strings()?.as_slice() {
                [key, value] => Some((key.clone(), value.clone())),
                _ => None,
            })
            .collect::<Option<_>>()?;
        Some(Self {
            argv: value
                .get("argv")?
                .as_strings()
                .filter(|argv| !argv.is_empty())?,
            env,
            cwd: value.get("cwd")?.as_str()?.to_owned(),
        })
    }

    fn var(&self, name: &str) -> Option<String> {
        self.env
            .iter()
            .rev()
            .find(|(key, value)| key == name && wire::is_header_value(value))
            .map(|(_, value)| value.clone())
    }

    fn start(&self) -> Result<Child, String> {
        // Asked first: a missing directory and a missing program look the same afterwards.
        if !Path::new(&self.cwd).is_dir() {
            return Err(format!("the working directory {} is gone", self.cwd));
        }
        let Some((program, args)) = self.argv.split_first() else {
            return Err("there is no program to run".to_owned());
        };
        let pane = PANE_VARS
            .iter()
            .filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut command = Command::new(program);
        command
            .args(args)
            .current_dir(&self.cwd)
            .env_clear()
            .envs(self.env.iter().map(|(key, value)| (key, value)))
            .envs(pane);
        platform::default_signals(&mut command);
        command
            .spawn()
            .map_err(|error| format!("cannot run {program}: {error}"))
    }
}

/// What the daemon wants after the agent has ended.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Exit,
    /// It is not decided yet: ask again.
    Wait,
    /// What is in our memory only is needed for what comes next.
    LendEnvironment,
    Relaunch {
        launch: String,
        argv: Vec<String>,
    },
}

impl Next {
    /// Whatever is not understood means to end: that is always safe.
    fn parse(body: &[u8]) -> Self {
        let next = || {
            let value = json::parse(body)?;
            match value.get("action")?.as_str()? {
                "wait" => return Some(Self::Wait),
                "environment" => return Some(Self::LendEnvironment),
                "relaunch" => {}
                _ => return None,
            }
            let launch = match value.get("launch")? {
                Value::Number(text) | Value::String(text) => text.clone(),
                Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
            };
            let argv = value
                .get("argv")?
                .as_strings()
                .filter(|argv| !argv.is_empty())?;
            wire::is_plain_word(&launch).then_some(Self::Relaunch { launch, argv })
        };
        next().unwrap_or(Self::Exit)
    }
}

struct Launcher {
    client: Client,
    session: String,
    launch: String,
    secret: Option<String>,
}

impl Launcher {
    fn caller(&self) -> Caller {
        Caller::new(self.session.clone(), self.secret.clone())
    }

    fn target(&self, report: &str) -> String {
        let (session, launch) = (&self.session, &self.launch);
        match report {
            "" => format!("/launch/{session}/{launch}"),
            report => format!("/launch/{session}/{launch}/{report}"),
        }
    }

    /// The plan, from a daemon that may have to be started first.
    fn fetch(&self) -> Result<Plan, String> {
        let deadline = Instant::now() + PATIENCE;
        let caller = self.caller();
        loop {
            let answer = self
                .client
                .request(&caller.post(&self.target(""), b""), deadline);
            let why = match answer {
                Ok(response) if response.is_success() => {
                    return Plan::parse(&response.body)
                        .ok_or_else(|| "the daemon's launch plan is not understood".to_owned());
                }
                Ok(response) if response.status() < 500 => return Err(said(&response)),
                Ok(response) => said(&response),
                Err(error) => {
                    if error.is_no_daemon() {
                        let _ = daemon::start(self.client.paths());
                    }
                    error.to_string()
                }
            };
            if Instant::now() + AGAIN_AFTER >= deadline {
                let id = &self.session;
                return Err(format!(
                    "{why}\nsm: the agent of session {id} was not started; \
                     see `sm doctor`, then `sm restore {id}`"
                ));
            }
            std::thread::sleep(AGAIN_AFTER);
        }
    }

    fn keep_running(mut self, mut plan: Plan) -> i32 {
        let terminal = Terminal::remember();
        platform::launcher_signals();
        loop {
            let status = match self.run_once(&plan) {
                Ok(status) => status,
                Err(why) => {
                    self.report("failed", &format!("\"error\":{}", wire::json_string(&why)));
                    return complain(&why, NOT_STARTED);
                }
            };
            if let Some(terminal) = &terminal {
                terminal.restore();
            }
            match self.report_exit(status, &plan) {
                Some((launch, argv)) if !platform::must_end() => {
                    self.launch = launch;
                    plan.argv = argv;
                }
                Some(_) | None => return code_of(status),
            }
        }
    }

    fn run_once(&self, plan: &Plan) -> Result<ExitStatus, String> {
        let mut child = plan.start()?;
        let pid = child.id();
        platform::agent_started(pid);
        let start = process::start_time(pid).unwrap_or(0);
        self.report("started", &format!("\"pid\":{pid},\"start\":{start}"));
        // Signals must stop going to this pid before it can be someone else's.
        let waited = platform::wait_for_end(pid);
        let status = child.wait();
        waited
            .and(status)
            .map_err(|error| format!("lost sight of the agent: {error}"))
    }

    fn body(&self, fields: &str) -> String {
        format!(
            "{{\"launch\":{},{fields}}}",
            wire::json_string(&self.launch)
        )
    }

    /// Tells the daemon once; without an answer, by the spool.
    fn report(&self, report: &str, fields: &str) {
        let (caller, body) = (self.caller(), self.body(fields));
        let answer = self.try_report(&caller, report, &body);
        if needs_spool(&answer) {
            self.spool(&caller, report, &body);
            if matches!(&answer, Err(error) if error.is_no_daemon()) {
                let _ = daemon::revive(self.client.paths());
            }
        }
    }

    /// Tells how the agent ended until the daemon says what comes next, or patience ends. Some: the
    /// launch and the arguments with which it is started again.
    fn report_exit(&self, status: ExitStatus, plan: &Plan) -> Option<(String, Vec<String>)> {
        let number = |value: Option<i32>| value.map_or("null".to_owned(), |n| n.to_string());
        let fields = format!(
            "\"code\":{},\"signal\":{},\"from_outside\":{}",
            number(status.code()),
            number(status.signal()),
            platform::told_to_end()
        );
        let (caller, body) = (self.caller(), self.body(&fields));
        let mut deadline = Instant::now() + PATIENCE;
        let mut spooled = false;
        loop {
            let answer = self.try_report(&caller, "exited", &body);
            match &answer {
                Ok(response) if response.is_success() => {
                    match Next::parse(&response.body) {
                        Next::Exit => return None,
                        Next::Relaunch { launch, argv } => return Some((launch, argv)),
                        Next::Wait => std::thread::sleep(ASK_AGAIN),
                        Next::LendEnvironment => self.lend(&caller, plan),
                    }
                    if platform::must_end() {
                        return None;
                    }
                    deadline = Instant::now() + PATIENCE; // the daemon lives and has a plan
                    continue;
                }
                Ok(response) if response.status() < 500 => return None,
                Ok(_) | Err(_) => {}
            }
            // The same event id: whichever way it arrives first counts.
            if !spooled {
                self.spool(&caller, "exited", &body);
                spooled = true;
            }
            if matches!(&answer, Err(error) if error.is_no_daemon())
                && matches!(
                    daemon::revive(self.client.paths()),
                    Ok(Start::StoppedOnPurpose)
                )
            {
                return None;
            }
            if platform::must_end() || Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(AGAIN_AFTER);
        }
    }

    /// Over the socket and never by the spool: it must not touch a disk.
    fn lend(&self, caller: &Caller, plan: &Plan) {
        let env: Vec<String> = plan
            .env
            .iter()
            .map(|(key, value)| {
                format!("[{},{}]", wire::json_string(key), wire::json_string(value))
            })
            .collect();
        let body = self.body(&format!("\"env\":[{}]", env.join(",")));
        // taken or not: the next answer tells
        let _ = self.try_report(caller, "environment", &body);
    }

    fn try_report(&self, caller: &Caller, report: &str, body: &str) -> Result<Response, HttpError> {
        self.client.request(
            &caller.post(&self.target(report), body.as_bytes()),
            Instant::now() + ONE_REPORT,
        )
    }

    fn spool(&self, caller: &Caller, report: &str, body: &str) {
        let paths = self.client.paths();
        caller.spool(
            paths,
            "launch",
            report,
            body.as_bytes(),
            Completeness::Whole,
        );
    }
}

fn needs_spool(answer: &Result<Response, HttpError>) -> bool {
    match answer {
        Ok(response) => response.status() >= 500,
        Err(_) => true,
    }
}

fn said(response: &Response) -> String {
    match response.error() {
        (what, Some(hint)) => format!("{what}\nsm: {hint}"),
        (what, None) => what,
    }
}

/// As a shell would say it.
fn code_of(status: ExitStatus) -> i32 {
    status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(NO_DAEMON)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_whole_or_nothing() {
        let plan = Plan::parse(
            br#"{"argv":["a","b c"],"env":[["K","V=1"],["K2",""]],"cwd":"/x","new":1}"#,
        );
        assert_eq!(
            plan,
            Some(Plan {
                argv: vec!["a".to_owned(), "b c".to_owned()],
                env: vec![
                    ("K".to_owned(), "V=1".to_owned()),
                    ("K2".to_owned(), String::new())
                ],
                cwd: "/x".to_owned(),
            })
        );
        for bad in [
            "",
            "{}",
            r#"{"argv":[],"env":[],"cwd":"/"}"#,
            r#"{"argv":[1],"env":[],"cwd":"/"}"#,
            r#"{"argv":["a"],"env":[["K"]],"cwd":"/"}"#,
            r#"{"argv":["a"],"env":{"K":"V"},"cwd":"/"}"#,
            r#"{"argv":["a"],"env":[]}"#,
        ] {
            assert_eq!(Plan::parse(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn only_a_clear_word_starts_the_agent_again() {
        let again = |launch: &str| Next::Relaunch {
            launch: launch.to_owned(),
            argv: vec!["a".to_owned()],
        };
        for (body, expected) in [
            (
                r#"{"action":"relaunch","launch":7,"argv":["a"]}"#,
                again("7"),
            ),
            (
                r#"{"action":"relaunch","launch":"x-7","argv":["a"]}"#,
                again("x-7"),
            ),
            (
                r#"{"action":"relaunch","launch":"../7","argv":["a"]}"#,
                Next::Exit,
            ),
            (r#"{"action":"relaunch","launch":7,"argv":[]}"#, Next::Exit),
            (r#"{"action":"relaunch","argv":["a"]}"#, Next::Exit),
            (r#"{"action":"exit","launch":7,"argv":["a"]}"#, Next::Exit),
            (r#"{"action":"wait"}"#, Next::Wait),
            (r#"{"action":"environment"}"#, Next::LendEnvironment),
            (r#"{"action":"dance"}"#, Next::Exit),
            ("", Next::Exit),
        ] {
            assert_eq!(Next::parse(body.as_bytes()), expected, "{body}");
        }
    }
}
