//! Running an agent's own program on a fork of its conversation, and reading its answer.
//!
//! The program has a process group of its own, and all of it has been killed when this returns,
//! however it returns. Nothing of the session is touched.

use std::io;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use sm_agents::fork::{self, Answered, ForkLaunch, ForkOutcome, ForkRequest, ForkStep, Input};
use sm_core::profile::AgentKind;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

/// How much of what the program complains about is kept.
const COMPLAINT: usize = 8 * 1024;

/// How long a program that was told to end may take.
const GRACE: Duration = Duration::from_millis(500);

/// How often it is looked at meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("cancelled")]
    Cancelled,
    #[error("this kind of agent cannot be asked")]
    NotPossible,
    #[error("the model returned no text")]
    Empty,
    #[error("no answer within {} s", .0.as_secs())]
    Deadline(Duration),
    #[error("{0}")]
    Failed(String),
    #[error("{program} could not be started: {source}")]
    NotStarted { program: String, source: io::Error },
}

/// Asks, and calls `preview` with each piece of the answer as it comes.
pub async fn ask(
    kind: AgentKind,
    request: &ForkRequest,
    patience: Duration,
    cancel: &CancellationToken,
    preview: &mut (dyn FnMut(&str) + Send),
) -> Result<Answered, ProgramError> {
    let (launch, mut talk) = fork::fork(kind, request).ok_or(ProgramError::NotPossible)?;
    let mut program = Program::start(&launch, request)?;
    let deadline = Instant::now() + patience;
    let outcome = tokio::select! {
        outcome = timeout_at(deadline, program.talk(&launch, &mut talk, preview)) => {
            outcome.map_err(|_| ProgramError::Deadline(patience))
        }
        () = cancel.cancelled() => Err(ProgramError::Cancelled),
    };
    program.end().await;
    match outcome? {
        ForkOutcome::Answered(answered) => Ok(answered),
        ForkOutcome::Empty => Err(ProgramError::Empty),
        ForkOutcome::Failed(said) => Err(ProgramError::Failed(said)),
    }
}

struct Program {
    child: Child,
    stdin: Option<ChildStdin>,
}

impl Program {
    fn start(launch: &ForkLaunch, request: &ForkRequest) -> Result<Self, ProgramError> {
        let (name, arguments) = launch.argv.split_first().ok_or(ProgramError::NotPossible)?;
        let mut command = Command::new(name);
        command
            .args(arguments)
            .current_dir(&request.cwd)
            .envs(launch.env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        for name in launch.without {
            command.env_remove(name);
        }
        let mut child = command.spawn().map_err(|source| ProgramError::NotStarted {
            program: name.clone(),
            source,
        })?;
        let stdin = child.stdin.take();
        Ok(Self { child, stdin })
    }

    async fn talk(
        &mut self,
        launch: &ForkLaunch,
        talk: &mut fork::Fork,
        preview: &mut (dyn FnMut(&str) + Send),
    ) -> ForkOutcome {
        let complaint = self.child.stderr.take().map(|stderr| {
            // read beside the answer: a full pipe would stop the program
            tokio::spawn(last_words(stderr))
        });
        // a program that ends before it has read everything says why on stdout or stderr
        let _ = self.write(&launch.stdin).await;
        if launch.input == Input::Ends {
            self.stdin = None;
        }
        if let Some(stdout) = self.child.stdout.take() {
            let mut lines = Lines::new(stdout);
            while let Some(line) = lines.next().await {
                for step in talk.line(&line) {
                    match step {
                        ForkStep::Write(bytes) => {
                            let _ = self.write(&bytes).await;
                        }
                        ForkStep::Preview(text) => preview(&text),
                        ForkStep::Finished(outcome) => return outcome,
                    }
                }
            }
        }
        let said = match complaint {
            Some(reading) => timeout(GRACE, reading)
                .await
                .ok()
                .and_then(Result::ok)
                .unwrap_or_default(),
            None => String::new(),
        };
        talk.ended(&said)
    }

    async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(stdin) = &mut self.stdin else {
            return Ok(());
        };
        stdin.write_all(bytes).await?;
        stdin.flush().await
    }

    /// Ends the whole group: first by asking. What the program has started is ended too, before the
    /// program is waited for: until then its group cannot be anybody else's.
    async fn end(&mut self) {
        self.stdin = None;
        self.signal(Signal::TERM);
        let until = Instant::now() + GRACE;
        while !self.has_ended() && Instant::now() < until {
            sleep(LOOK).await;
        }
        self.signal(Signal::KILL);
        let _ = timeout(GRACE, self.child.wait()).await;
    }

    fn pid(&self) -> Option<Pid> {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        pid.and_then(Pid::from_raw)
    }

    /// Whether the program itself has ended; it is not waited for by this.
    fn has_ended(&self) -> bool {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        self.pid()
            .is_none_or(|pid| matches!(waitid(WaitId::Pid(pid), look), Ok(Some(_)) | Err(_)))
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid() {
            let _ = kill_process_group(pid, signal);
        }
    }
}

/// Lines of at most [`fork::MAX_LINE`] bytes; a longer one is passed over.
struct Lines<R> {
    from: BufReader<R>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    fn new(from: R) -> Self {
        Self {
            from: BufReader::new(from),
        }
    }

    /// `None` at the end, or where it cannot be read any more.
    async fn next(&mut self) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        let mut too_long = false;
        loop {
            let bytes = self.from.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return (!line.is_empty() && !too_long).then_some(line);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
            too_long |= line.len() + part.len() > fork::MAX_LINE;
            if !too_long {
                line.extend_from_slice(part);
            }
            let used = end.map_or(bytes.len(), |end| end + 1);
            self.from.consume(used);
            if end.is_some() {
                if !too_long {
                    return Some(line);
                }
                line.clear();
                too_long = false;
            }
        }
    }
}

/// The end of what the program wrote to stderr.
async fn last_words(mut stderr: impl AsyncRead + Unpin) -> String {
    let mut kept = Vec::new();
    let mut piece = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut piece).await {
        kept.extend_from_slice(piece.get(..count).unwrap_or_default());
        let excess = kept.len().saturating_sub(COMPLAINT);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sm_core::ids::ConversationId;

    fn request(script: &str) -> ForkRequest {
        ForkRequest {
            program: ["sh", "-c", script, "agent"].map(String::from).to_vec(),
            conversation: ConversationId::new("c1").unwrap(),
            cwd: std::env::temp_dir(),
            prompt: "write it down".into(),
        }
    }

    async fn asked(script: &str, patience: Duration) -> Result<Answered, ProgramError> {
        let cancel = CancellationToken::new();
        ask(
            AgentKind::Claude,
            &request(script),
            patience,
            &cancel,
            &mut |_| {},
        )
        .await
    }

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn the_answer_is_read_and_the_prompt_arrives() {
        let script = r#"read -r prompt; printf '{"type":"assistant","message":{"model":"m","content":[{"type":"text","text":"got: %s"}]}}\n{"type":"result","is_error":false}\n' "$prompt"; cat >/dev/null; sleep 600"#;
        let answered = asked(script, LONG).await.unwrap();
        assert_eq!(answered.text, "got: write it down");
    }

    #[tokio::test]
    async fn each_way_to_have_no_answer_is_told() {
        let table = [
            (
                "echo 'No conversation found' >&2; exit 1",
                "No conversation found",
            ),
            (
                r#"echo '{"type":"result","is_error":false}'"#,
                "the model returned no text",
            ),
            (
                r#"echo '{"type":"result","is_error":true,"result":"API Error: 400"}'"#,
                "API Error: 400",
            ),
            ("exit 0", "the program ended without an answer"),
        ];
        for (script, told) in table {
            let error = asked(script, LONG).await.unwrap_err();
            assert_eq!(error.to_string(), told, "{script}");
        }
        let error = asked("sleep 600", Duration::from_millis(50))
            .await
            .unwrap_err();
        assert!(matches!(error, ProgramError::Deadline(_)), "{error}");
        let mut missing = request("");
        missing.program = vec!["/nowhere/agent".into()];
        let cancel = CancellationToken::new();
        let error = ask(AgentKind::Claude, &missing, LONG, &cancel, &mut |_| {})
            .await
            .unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("/nowhere/agent could not be started")
        );
    }

    #[tokio::test]
    async fn cancelled_while_it_answers_nothing_of_it_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let pids = folder.path().join("pids");
        let script = format!(
            r#"(trap '' TERM; exec sleep 600) & echo $$ $! >{p}.new; mv {p}.new {p}; printf '{{"type":"assistant","message":{{"model":"m","content":[{{"type":"text","text":"half"}}]}}}}\n'; wait; wait"#,
            p = pids.display()
        );
        let cancel = CancellationToken::new();
        let mut preview = |_: &str| cancel.cancel();
        let error = ask(
            AgentKind::Claude,
            &request(&script),
            LONG,
            &cancel,
            &mut preview,
        )
        .await
        .unwrap_err();
        assert!(matches!(error, ProgramError::Cancelled), "{error}");
        let told = std::fs::read_to_string(&pids).unwrap();
        for pid in told.split_whitespace() {
            let pid: u32 = pid.parse().unwrap();
            // killed for certain; the system takes its time to be done with it
            let until = Instant::now() + LONG;
            while sm_client::process::Process::of(pid).is_some() {
                assert!(Instant::now() < until, "{pid} still runs");
                sleep(LOOK).await;
            }
        }
    }
}
