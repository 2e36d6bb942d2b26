//! The commands, one file each: arguments whose comments are the help, and a `run` that asks
//! the daemon and prints.

mod agent;
pub(crate) mod alias;
mod archive;
mod archive_run;
mod ask;
mod attach;
mod channel;
mod channel_hook;
mod channel_lib;
mod channel_place;
mod check;
mod children;
mod completions;
mod context;
mod doctor;
mod eval;
mod events;
mod gc;
mod generate;
mod handoff;
mod handoff_generate;
mod handoff_source;
mod handoffs;
pub(crate) mod hooks;
mod kill;
mod ledger;
pub(crate) mod ls;
mod man;
mod mcp;
mod mcp_server;
mod mcp_tools;
mod new;
mod open;
mod output;
mod overview;
mod pin;
mod queue;
mod rename;
mod restore;
mod run;
mod run_rotating;
mod send;
mod serve;
pub(crate) mod service;
mod show;
mod status;
mod statusline;
mod stop;
mod uninstall;
mod wait;
mod watch;
mod whoami;

use std::ffi::OsString;

use clap::{Args, Parser, Subcommand};

use crate::error::{ExitCode, Result};
use crate::print::Printer;

/// Keeps coding agents going: starts them as durable sessions, knows their state, and gets
/// messages to them.
///
/// Without a command: an overview of the sessions and of what needs a person.
#[derive(Debug, Parser)]
#[command(
    name = "sm",
    version,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP,
    max_term_width = 100
)]
pub struct Cli {
    #[command(flatten)]
    overview: overview::Overview,
    #[command(subcommand)]
    command: Option<Command>,
}

const AFTER_HELP: &str = "\
Sessions are named by id, by a unique beginning of the id, or by name.
Exit codes: 0 done; 1 refused or not found; 2 not usable here; 3 not proven in time, stays queued; 64 wrong usage.
SM_HOME=<dir> keeps configuration, state and data of a separate instance in one directory.";

#[derive(Debug, Subcommand)]
enum Command {
    New(new::New),
    Run(run::Run),
    Agent(agent::Agent),
    Ls(ls::Ls),
    Show(show::Show),
    Context(context::Context),
    Events(events::Events),
    Watch(watch::Watch),
    Send(send::Send),
    Ask(ask::Ask),
    Wait(wait::Wait),
    Output(output::Output),
    Archive(archive::Archive),
    Ledger(ledger::Ledger),
    Attach(attach::Attach),
    Rename(rename::Rename),
    Kill(kill::Kill),
    Restore(restore::Restore),
    Queue(queue::Queue),
    Handoff(handoff::Handoff),
    Handoffs(handoffs::Handoffs),
    Generate(generate::Generate),
    Channel(channel::Channel),
    Pin(pin::Pin),
    Hooks(hooks::Hooks),
    Alias(alias::Alias),
    Children(children::Children),
    Whoami(whoami::Whoami),
    Mcp(mcp::Mcp),
    Eval(eval::Eval),
    Doctor(doctor::Doctor),
    Serve(serve::Serve),
    Stop(stop::Stop),
    Status(status::Status),
    Open(open::Open),
    #[command(name = "statusline")]
    StatusLine(statusline::StatusLine),
    Service(service::Service),
    Uninstall(uninstall::Uninstall),
    Gc(gc::Gc),
    Completions(completions::Completions),
    Man(man::Man),
}

/// What was typed, the program's name first.
///
/// What agents and scripts run again and again is parsed by its own definition alone: making those
/// of all commands takes longer than many a command. It is the same definition, so what it takes
/// means the same; what it does not take, and every wish for help, is left to the whole.
pub fn parse(mut typed: Vec<OsString>) -> std::result::Result<Cli, clap::Error> {
    // As other programs have it; a command of ours it is not, so nothing else lists it.
    if typed.get(1).is_some_and(|word| word == "help") {
        typed.remove(1);
        typed.push("--help".into());
    }
    let own = typed.get(1..).unwrap_or_default();
    let often = match own.first().and_then(|name| name.to_str()) {
        Some("channel") => channel::Channel::parse(own).map(Command::Channel),
        Some("handoff") => alone(own).map(Command::Handoff),
        Some("ls") => alone(own).map(Command::Ls),
        Some("mcp") => alone(own).map(Command::Mcp),
        Some("run") => alone(own).map(Command::Run),
        Some("send") => alone(own).map(Command::Send),
        Some("serve") => alone(own).map(Command::Serve),
        Some("show") => alone(own).map(Command::Show),
        Some("wait") => alone(own).map(Command::Wait),
        Some("whoami") => alone(own).map(Command::Whoami),
        Some(_) | None => None,
    };
    match often {
        Some(command) => Ok(Cli {
            overview: overview::Overview::default(),
            command: Some(command),
        }),
        None => Cli::try_parse_from(typed),
    }
}

/// A command as if it were a program.
fn alone<T: Args>(typed: &[OsString]) -> Option<T> {
    let definition = T::augment_args(clap::Command::new("sm").disable_help_subcommand(true));
    let matches = definition.try_get_matches_from(typed).ok()?;
    T::from_arg_matches(&matches).ok()
}

pub fn run(cli: Cli, out: &mut Printer) -> Result<ExitCode> {
    let done = match cli.command {
        None => cli.overview.run(out),
        Some(Command::New(command)) => command.run(out),
        Some(Command::Run(command)) => return command.run(),
        Some(Command::Agent(command)) => command.run(),
        Some(Command::Ls(command)) => command.run(out),
        Some(Command::Show(command)) => command.run(out),
        Some(Command::Context(command)) => command.run(out),
        Some(Command::Events(command)) => command.run(out),
        Some(Command::Watch(command)) => return command.run(out),
        Some(Command::Send(command)) => command.run(out),
        Some(Command::Ask(command)) => command.run(out),
        Some(Command::Wait(command)) => command.run(out),
        Some(Command::Output(command)) => command.run(out),
        Some(Command::Archive(command)) => return command.run(out),
        Some(Command::Ledger(command)) => command.run(out),
        Some(Command::Attach(command)) => command.run(out),
        Some(Command::Rename(command)) => command.run(out),
        Some(Command::Kill(command)) => command.run(out),
        Some(Command::Restore(command)) => command.run(out),
        Some(Command::Queue(command)) => command.run(out),
        Some(Command::Handoff(command)) => return command.run(out),
        Some(Command::Handoffs(command)) => command.run(out),
        Some(Command::Generate(command)) => command.run(),
        Some(Command::Channel(command)) => return command.run(out),
        Some(Command::Pin(command)) => command.run(out),
        Some(Command::Alias(command)) => command.run(out),
        Some(Command::Hooks(command)) => command.run(out),
        Some(Command::Children(command)) => command.run(out),
        Some(Command::Whoami(command)) => command.run(out),
        Some(Command::Mcp(command)) => command.run(),
        Some(Command::Eval(command)) => command.run(out),
        Some(Command::Doctor(command)) => return command.run(out),
        Some(Command::Serve(command)) => return command.run(),
        Some(Command::Stop(command)) => command.run(out),
        Some(Command::Uninstall(command)) => command.run(out),
        Some(Command::Status(command)) => command.run(out),
        Some(Command::Open(command)) => command.run(out),
        Some(Command::StatusLine(command)) => command.run(),
        Some(Command::Service(command)) => command.run(out),
        Some(Command::Gc(command)) => command.run(out),
        Some(Command::Completions(command)) => command.run(out),
        Some(Command::Man(command)) => command.run(out),
    };
    done.map(|()| ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_and_argument_says_what_it_is() {
        fn check(command: &clap::Command, path: &str) {
            assert!(
                command.get_about().is_some(),
                "{path} does not say what it does"
            );
            for argument in command.get_arguments() {
                assert!(
                    argument.get_help().is_some(),
                    "{path}: {} has no help",
                    argument.get_id()
                );
            }
            for sub in command.get_subcommands() {
                check(sub, &format!("{path} {}", sub.get_name()));
            }
        }
        check(&Cli::command(), "sm");
    }

    #[test]
    fn what_is_wrong_usage() {
        for (line, fine) in [
            ("sm", true),
            ("sm --json", true),
            ("sm ls --json --all", true),
            ("sm new claude", true),
            ("sm new claude --detach -- --model X", true),
            ("sm new -- my-agent --flag", true),
            ("sm new claude --model X", false),
            ("sm send api run the tests --wait 30", true),
            ("sm send api hello --wait", true),
            ("sm send api hello --wait soon", false),
            ("sm send api hello --mode loud", false),
            ("sm send", false),
            ("sm open", true),
            ("sm open --print", true),
            ("sm open api", false),
            ("sm wait api --for idle --timeout 600", true),
            ("sm wait api --for idle,waiting", true),
            ("sm wait api", true),
            ("sm kill a b --purge", true),
            ("sm kill", false),
            ("sm attach", true),
            ("sm send --to a,b run the tests", true),
            ("sm send --to a hello --wait", true),
            ("sm handoff notes.md --session api --wait 60", true),
            ("sm handoff --auto --session api --wait", true),
            ("sm handoff --cancel --wait", false),
            ("sm wait api --for handing_off", true),
            ("sm archive api", true),
            ("sm archive api --generation 2 --raw", true),
            ("sm archive api --raw --path", false),
            ("sm archive api grep pattern -i -C 3 --generation 2", true),
            ("sm archive api --generation 2 grep pattern --json", true),
            ("sm archive api grep", false),
            ("sm archive", false),
            ("sm ledger", true),
            ("sm ledger api --budget 4000 --json", true),
            ("sm ledger api --generation 2", true),
            (
                "sm ledger --transcript t.jsonl --until-line 12 --budget 1000",
                true,
            ),
            ("sm ledger api --transcript t.jsonl", false),
            ("sm ledger api --until-line 12", false),
            ("sm ledger --transcript t.jsonl --generation 2", false),
            ("sm ledger api --budget 999", false),
            ("sm ledger api --budget 50001", false),
            ("sm watch", true),
            ("sm watch --all --ascii", true),
            ("sm watch api", false),
            ("sm queue ls", true),
            ("sm queue rm api 1a2b", true),
            ("sm queue", true),
            ("sm handoff notes.md", true),
            ("sm handoff notes.md --force --session api --json", true),
            ("sm handoff --template", true),
            ("sm handoff --cancel", true),
            ("sm handoff --cancel --session api", true),
            ("sm handoff --auto", true),
            ("sm handoff --auto --session api --json", true),
            ("sm handoff --auto notes.md", false),
            ("sm handoff --auto --cancel", false),
            ("sm handoff --auto --force", false),
            ("sm handoff", false),
            ("sm handoff --force", false),
            ("sm handoff --cancel --force", false),
            ("sm handoff a.md b.md", false),
            ("sm handoff --template notes.md", false),
            ("sm handoff --cancel notes.md", false),
            ("sm handoff --template --cancel", false),
            ("sm handoffs", true),
            ("sm handoffs api --json --limit 3", true),
            ("sm handoffs show 1a2b --json", true),
            ("sm handoffs show", false),
            ("sm handoffs --limit many", false),
            ("sm handoffs --limit 0", false),
            ("sm handoffs api show 1a2b", false),
            ("sm mcp", true),
            ("sm mcp handoff", false),
            ("sm channel", true),
            ("sm channel ls --json", true),
            ("sm channel current", true),
            ("sm channel register /a app", true),
            ("sm channel register /a", false),
            ("sm channel unregister /a", true),
            ("sm channel create", true),
            ("sm channel create --channel app --type bye notes.md", true),
            ("sm channel create --type loud", false),
            ("sm channel load --channel app --pid 12", true),
            ("sm channel load --id HO-20260202-064530-a", true),
            ("sm channel show --json", true),
            ("sm channel lib load_handoff global 12", true),
            ("sm channel lib create_handoff global --text", true),
            ("sm channel lib", false),
            ("sm run claude", true),
            ("sm run claude -p hi --resume x -- y", true),
            ("sm run --verbose codex --verbose", true),
            ("sm run -- my-agent --flag -- x", true),
            ("sm run", false),
            ("sm run --", false),
            ("sm run --loud claude", false),
            ("sm hooks install", true),
            ("sm hooks install claude --dry-run --scope project", true),
            ("sm hooks remove codex --dry-run", true),
            ("sm hooks status --json", true),
            ("sm hooks", false),
            ("sm hooks install vim", false),
            ("sm hooks install --scope all", false),
            ("sm hooks status --dry-run", false),
            ("sm context", true),
            ("sm context api --json", true),
            ("sm context api --watch off", true),
            ("sm context api --watch maybe", false),
            ("sm statusline --format {percent} -- my-line --flag", true),
            ("sm eval fidelity", true),
            ("sm eval fidelity --budget 2000,4000 --json a.jsonl b", true),
            ("sm eval fidelity --budget 2000 --budget 4000", true),
            ("sm eval fidelity --cuts 0.5,0.8", true),
            ("sm eval fidelity --cuts 0.5,1.5", false),
            ("sm eval fidelity --budget none", false),
            ("sm eval", false),
            ("sm channel --help", false),
            ("sm channel help", false),
            ("sm channel -V", false),
            ("sm run --help", false),
            ("sm run claude --help", true),
            ("sm send --help api", false),
            ("sm send api -- --help", true),
            ("sm lss", false),
            ("sm --json ls", false),
            ("sm serve --port 70000", false),
        ] {
            let parsed = Cli::try_parse_from(line.split(' '));
            assert_eq!(parsed.is_ok(), fine, "{line}: {parsed:?}");
            let quickly = parse(line.split(' ').map(OsString::from).collect());
            assert_eq!(
                format!("{:?}", quickly.map_err(|error| error.to_string())),
                format!("{:?}", parsed.map_err(|error| error.to_string())),
                "{line}"
            );
        }
    }
}
