//! The tools of sm for the session that it manages: `sm mcp --call`, which asks the daemon as it does for
//! every other agent. Who asks is proven by the environment that both have.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Map, Value};
use sm_agents::OwnTools;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use super::outcome::ToolOutcome;

/// It answers within two seconds by itself; this is for a machine that stands still.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn run(
    own: &OwnTools,
    tool: &str,
    arguments: &Map<String, Value>,
    cancel: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let asked = ask(own, tool, arguments);
    tokio::select! {
        answered = tokio::time::timeout(PATIENCE, asked) => answered.unwrap_or_else(|_| {
            Err("Error: sm did not answer; call the tool again".to_owned())
        }),
        () = cancel.cancelled() => Ok(ToolOutcome::cancelled()),
    }
}

/// Dropped, it ends the program that it has started.
async fn ask(
    own: &OwnTools,
    tool: &str,
    arguments: &Map<String, Value>,
) -> Result<ToolOutcome, String> {
    let failed = |error: std::io::Error| {
        format!(
            "Error: {} cannot be asked: {error}\nhint: `sm handoff -` in the shell does the same as the tool handoff",
            own.program
        )
    };
    let mut child = Command::new(&own.program)
        .args(["mcp", "--call", tool])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let given = Value::Object(arguments.clone()).to_string();
    if let Some(mut input) = child.stdin.take() {
        // one that ends before it has read all says why
        let _ = input.write_all(given.as_bytes()).await;
    }
    let ended = child.wait_with_output().await.map_err(failed)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    match ended.status.success() {
        true => Ok(ToolOutcome::text(text(&ended.stdout))),
        false => Err(text(&ended.stderr)),
    }
}
