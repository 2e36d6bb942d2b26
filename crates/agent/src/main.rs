//! `sm-agent`: what `sm agent` starts.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use sm_agent::approval::Person;
use sm_agent::args::{AgentArgs, Cli, Command};
use sm_agent::headless::{self, Form};
use sm_agent::host::Host;
use sm_agent::managed::Managed;
use sm_agent::session;
use sm_agent::setup::{self, Folders, Ready, SetupError};
use sm_agent::templates;
use sm_agent::tui;

fn main() -> ExitCode {
    if sm_agent::args::completed() {
        return ExitCode::SUCCESS;
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() {
                headless::USAGE
            } else {
                headless::DONE
            });
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => return complain(&error.to_string(), headless::NOT_USABLE),
    };
    let code = match cli.command {
        Command::Agent(args) => runtime.block_on(agent(&args)),
        Command::Generate(args) => ExitCode::from(runtime.block_on(args.run())),
        Command::Document(args) => ExitCode::from(runtime.block_on(args.run())),
    };
    // What a tool has left hanging must not hold up the end.
    runtime.shutdown_background();
    code
}

async fn agent(args: &AgentArgs) -> ExitCode {
    match &args.print {
        Some(text) => unattended(args, text).await,
        None => attended(args).await,
    }
}

/// In the person's terminal.
async fn attended(args: &AgentArgs) -> ExitCode {
    let (folders, ready) = match prepare(args, Person::Here).await {
        Ok(prepared) => prepared,
        Err(code) => return code,
    };
    let set = |name: &str| std::env::var(name).ok();
    let options = tui::Options {
        look: tui::Look::of(set, args.plain),
        cwd: ready.options.cwd.clone(),
        sessions: folders.sessions.clone(),
        history: Some(folders.history(&ready.options.cwd)),
        home: set("HOME").map(PathBuf::from),
        notices: ready.notices,
        prompt: args.prompt.clone(),
        config: ready.options.config.clone(),
        templates: templates::load(&folders.prompts(&ready.options.cwd)),
    };
    let cwd = ready.options.cwd.clone();
    let (commands, updates) = Host::start(ready.options, ready.opening);
    let (managed, updates) = match args.managed {
        true => Managed::join(&folders, cwd, &commands, updates),
        false => (None, updates),
    };
    let code = tui::run(commands, updates, options).await;
    if let Some(managed) = managed {
        managed.leave();
    }
    code
}

async fn unattended(args: &AgentArgs, text: &str) -> ExitCode {
    let text = match headless::prompt(text) {
        Ok(text) => text,
        Err(error) => {
            return complain(
                &format!("the prompt cannot be read: {error}"),
                headless::USAGE,
            );
        }
    };
    if text.trim().is_empty() {
        return complain("the prompt is empty", headless::USAGE);
    }
    let text = match Folders::from_env() {
        Ok(folders) if text.starts_with('/') => {
            let cwd = args.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
            let templates = templates::load(&folders.prompts(&cwd));
            // What a template says is a prompt, whatever it begins with.
            templates::expand(&text, &templates)
                .map(Ok)
                .unwrap_or(Err(text))
        }
        _ => Err(text),
    };
    let order = match text {
        Ok(prompt) => Ok(sm_agent::host::Command::Prompt(prompt)),
        Err(text) => headless::order(&text),
    };
    let order = match order {
        Ok(order) => order,
        Err(why) => return complain(&why, headless::USAGE),
    };
    let (_, ready) = match prepare(args, Person::Nobody).await {
        Ok(prepared) => prepared,
        Err(code) => return code,
    };
    for notice in &ready.notices {
        let _ = writeln!(std::io::stderr(), "{notice}");
    }
    let (commands, updates) = Host::start(ready.options, ready.opening);
    let form = if args.json { Form::Json } else { Form::Text };
    let code = headless::run(order, form, commands, updates, std::io::stdout()).await;
    ExitCode::from(code)
}

/// What is needed before anything is asked; what is wrong with it has been said.
async fn prepare(args: &AgentArgs, person: Person) -> Result<(Folders, Ready), ExitCode> {
    let folders =
        Folders::from_env().map_err(|error| complain(&error.to_string(), headless::NOT_USABLE))?;
    let chosen = choose(args, &folders)?;
    let ready = setup::ready(args, &folders, person, chosen.as_deref()).await;
    let ready = ready.map_err(|error| {
        let code = match error {
            SetupError::Rule(_) | SetupError::Thinking(_) => headless::USAGE,
            _ => headless::NOT_USABLE,
        };
        complain(&error.to_string(), code)
    })?;
    Ok((folders, ready))
}

/// The session that a person picks where `--resume` names none.
fn choose(args: &AgentArgs, folders: &Folders) -> Result<Option<PathBuf>, ExitCode> {
    if args.resume.as_deref() != Some("") {
        return Ok(None);
    }
    let cwd = args.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let cwd = cwd.canonicalize().unwrap_or(cwd);
    let sessions = session::list(&folders.sessions, &cwd);
    if sessions.is_empty() || !std::io::stdin().is_terminal() {
        return Ok(None); // the newest, or the reason why there is none
    }
    let lines: Vec<String> = sessions
        .iter()
        .take(50)
        .map(|summary| {
            let name = summary.title.as_ref().or(summary.first_message.as_ref());
            format!(
                "{}  {}",
                summary.header.timestamp,
                name.map_or("", String::as_str)
            )
        })
        .collect();
    match headless::pick(&lines) {
        Ok(Some(at)) => Ok(sessions.into_iter().nth(at).map(|summary| summary.path)),
        Ok(None) => Err(complain("no session was chosen", headless::USAGE)),
        Err(error) => Err(complain(&error.to_string(), headless::NOT_USABLE)),
    }
}

fn complain(what: &str, code: u8) -> ExitCode {
    let _ = writeln!(std::io::stderr(), "sm agent: {what}");
    ExitCode::from(code)
}
