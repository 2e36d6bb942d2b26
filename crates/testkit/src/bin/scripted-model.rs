//! `scripted-model PORT [LOG.jsonl]`: the scripted model server as a program of its own.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let port = match args
        .next()
        .map(|port| port.to_str().and_then(|p| p.parse().ok()))
    {
        None => 8377,
        Some(Some(port)) => port,
        Some(None) => {
            eprintln!("usage: scripted-model [PORT [LOG.jsonl]]");
            return ExitCode::from(2);
        }
    };
    let log = args.next();
    let ready = |addr| println!("scripted model on {addr}");
    match sm_testkit::model::serve_forever(port, log.as_deref().map(Path::new), ready) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = std::error::Error::source(&error)
                .map(|c| format!(": {c}"))
                .unwrap_or_default();
            eprintln!("scripted-model: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}
