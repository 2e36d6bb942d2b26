//! Starting an agent: its argument list, its settings, its terminal.
//!
//! The environment never touches a disk or an argument list: it waits in memory for the launcher.

use crate::actor::Wake;
use crate::archive::{self, What};
use crate::ask::secret_hash;
use crate::config::Config;
use crate::hub::{Handle, Hub};
use crate::launches::{Carrier, Environment, Ticket};
use crate::own_tools::{self, Launching};
use crate::perform::Seat;
use crate::proof;
use crate::stored::Terminal;
use crate::transcripts::{self, Resume};
use crate::{clock, fault, probe, terminate};
use sm_agents::kind::{self, Hooks};
use sm_agents::launch::{LaunchRequest, Start};
use sm_client::wire;
use sm_core::{AgentKind, ConversationId, Event, LaunchPlan, Record, SessionId, SessionName};
use sm_runtime::{NewPane, PaneInfo};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A launcher whose agent has ended asks again within this time what to do, or it is gone.
const LAUNCHER_PATIENCE: Duration = Duration::from_secs(12);

pub async fn launch(seat: Seat, plan: LaunchPlan) {
    let number = plan.launch;
    if let Some(before) = plan.after {
        terminate::outlast(before).await;
    }
    if let Some(conversation) = &plan.record {
        let read = probe::read_ended(&seat, conversation).await;
        seat.event(Event::RecordRead {
            launch: number,
            read,
        });
    }
    let made = match in_place(&seat) {
        true => again(&seat, plan).await,
        false => try_launch(&seat, plan).await,
    };
    if let Err(reason) = made {
        seat.hub.launches.forget(&seat.record.id);
        seat.event(Event::LaunchFailed {
            launch: number,
            reason,
        });
    }
}

/// Between two contexts the launcher still sits in the session's terminal and waits. If the
/// environment is known, a person has given it anew: then the launcher before is gone, or was told
/// to end.
fn in_place(seat: &Seat) -> bool {
    let waits = seat.extra.terminal.as_ref().is_some_and(|terminal| {
        let launcher = sm_client::process::Process {
            pid: terminal.pane_pid,
            start: terminal.pane_start,
        };
        launcher.is_alive()
    });
    let known = seat.hub.launches.environment(&seat.record.id).is_some();
    seat.record.open_handoff().is_some() && waits && !known
}

/// Starts the agent again in its own terminal: its launcher has the environment, and only the
/// argument list is new. The session's secret stays the one it has.
async fn again(seat: &Seat, plan: LaunchPlan) -> Result<(), String> {
    let (hub, id, number) = (&seat.hub, &seat.record.id, plan.launch);
    hub.launches.want(id, number);
    let lent = lent(seat, number).await;
    hub.launches.want_no_more(id, number);
    let env = match lent {
        Lent::Environment(env) => env,
        Lent::NotNeeded => return Ok(()),
        Lent::Nothing => {
            return Err(format!(
                "the launcher in its terminal does not answer; run: sm restore {}",
                seat.record.id
            ));
        }
    };
    let folder = folder(seat)?;
    let home = kind::agent_home(seat.record.agent, |key| variable(&env, key));
    let request = request(seat, &plan, &folder, home.as_deref()).await;
    let argv = prepare_agent(seat, plan.launch, request, &env, home.as_deref()).await?;
    hub.launches.prepare(
        id,
        Ticket {
            launch: number,
            argv,
            env: Vec::new(), // the launcher has it
            cwd: seat.record.cwd.clone(),
            to: Carrier::Waiting,
            key: String::new(), // it proves itself with the session's secret
        },
    );
    probe::follow(seat).await;
    Ok(())
}

enum Lent {
    Environment(Environment),
    /// The agent runs already, or is not to run any more.
    NotNeeded,
    Nothing,
}

async fn lent(seat: &Seat, launch: u32) -> Lent {
    let (hub, id) = (&seat.hub, &seat.record.id);
    let mut seen = seat.handle.subscribe();
    let over = seen.wait_for(|p| {
        let record = &p.record;
        record.launch != launch
            || record.process.is_some()
            || record.ending
            || !record.state.is_live()
    });
    tokio::select! {
        env = hub.launches.until(|| hub.launches.environment(id)) => Lent::Environment(env),
        _ = over => Lent::NotNeeded,
        () = tokio::time::sleep(LAUNCHER_PATIENCE) => Lent::Nothing,
    }
}

fn folder(seat: &Seat) -> Result<PathBuf, String> {
    let folder = seat.hub.paths.session_dir(seat.record.id.as_str());
    std::fs::create_dir_all(&folder)
        .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    Ok(folder)
}

async fn try_launch(seat: &Seat, plan: LaunchPlan) -> Result<(), String> {
    let hub = &seat.hub;
    let id = &seat.record.id;
    let Some(mut env) = hub.launches.environment(id) else {
        return Err(format!(
            "its environment was lost with its terminal or the daemon; run: sm restore {}",
            seat.record.id
        ));
    };
    let folder = folder(seat)?;
    let agent_home = kind::agent_home(seat.record.agent, |key| variable(&env, key));
    let request = request(seat, &plan, &folder, agent_home.as_deref()).await;
    let prepared = prepare_agent(seat, plan.launch, request, &env, agent_home.as_deref()).await?;
    let secret = clock::random_hex(24);
    let hash = secret_hash(&secret);
    let home = agent_home.clone();
    seat.handle.send(Wake::Extra(Box::new(move |extra| {
        extra.secret_hash = hash;
        extra.agent_home = home;
        extra.terminal = None;
    })));
    // who finds the pane after a crash has to know its agent's hooks
    seat.handle.caught_up().await;
    set(&mut env, wire::SESSION_VAR, id.as_str());
    set(&mut env, wire::SECRET_VAR, &secret);
    match kind::hooks(seat.record.agent) {
        Hooks::WithLaunch => set(&mut env, wire::HOOKS_VAR, wire::HOOKS_INJECTED),
        // an agent within it may have installed ones, which speak for themselves
        Hooks::None => env.retain(|(key, _)| key != wire::HOOKS_VAR),
    }
    // hooks of the agent have to find this instance, not the one of another shell
    match std::env::var("SM_HOME") {
        Ok(home) => set(&mut env, "SM_HOME", &home),
        Err(_) => env.retain(|(key, _)| key != "SM_HOME"),
    }
    // nor those of an agent that asked out of `sm run`
    env.retain(|(key, _)| key != wire::RUN_VAR);
    // the agent's own tmux, if the shell that asked ran in one, is not this one
    env.retain(|(key, _)| !matches!(key.as_str(), "TMUX" | "TMUX_PANE"));
    // nor is it a tool of the agent that asked
    env.retain(|(key, _)| !sm_agents::marks::is_mark(key));
    let key = clock::random_hex(24);
    hub.launches.prepare(
        id,
        Ticket {
            launch: plan.launch,
            argv: prepared,
            env,
            cwd: seat.record.cwd.clone(),
            to: Carrier::New,
            key: key.clone(),
        },
    );
    if seat.extra.terminal.is_some() {
        terminate::close(seat).await; // its launcher is gone
    }
    let keys = Keys {
        launch: key,
        log: proof::log_key(&secret_hash(&secret)),
    };
    let terminal = terminal(seat, plan.launch, &folder, keys).await?;
    seat.handle.send(Wake::Terminal(terminal.clone()));
    follow_rename(seat, &terminal).await;
    let now = seat.handle.now();
    if now.record.launch != plan.launch || !now.record.state.is_live() {
        // it ended at once: whoever was to close its terminal did not know it yet
        terminate::close_terminal(seat, &terminal).await;
        return Ok(());
    }
    probe::follow(seat).await;
    Ok(())
}

/// A conversation that was named but never begun begins now, under its name. In place of one that
/// cannot be resumed another one begins, and the session is told before its agent can speak.
async fn start(seat: &Seat, plan: &LaunchPlan, home: Option<&Path>) -> Start {
    let Some(conversation) = plan.resume.clone() else {
        return Start::New(seat.record.conversation.clone());
    };
    let (record, home, wanted) = (
        seat.record.clone(),
        home.map(Path::to_path_buf),
        conversation.clone(),
    );
    let look = move || transcripts::can_resume(&record, home.as_deref(), &wanted);
    match tokio::task::spawn_blocking(look).await {
        Ok(Resume::NotBegun) => {
            // whatever it was told before has left nothing behind
            seat.handle
                .send(Wake::Extra(Box::new(|extra| extra.begun = None)));
            Start::New(Some(conversation))
        }
        Ok(Resume::Impossible) => {
            let launch = plan.launch;
            seat.event(Event::NotResumed { launch });
            Start::New(None)
        }
        Ok(Resume::Possible) | Err(_) => Start::Resume(conversation),
    }
}

async fn request(
    seat: &Seat,
    plan: &LaunchPlan,
    folder: &Path,
    home: Option<&Path>,
) -> LaunchRequest {
    let (program, mut args) = program(&seat.hub.config, seat.record.agent, &seat.extra.command);
    args.extend(seat.extra.args.iter().cloned());
    LaunchRequest {
        program: vec![program].into_iter().flatten().collect(),
        start: start(seat, plan, home).await,
        prompt: plan.prompt.clone(),
        args,
        hook_program: seat.hub.hook_program.clone(),
        settings_path: folder.join("settings.json").to_string_lossy().into_owned(),
        tools: None, // known once its environment is
    }
}

/// The program of an agent and its fixed arguments.
fn program(config: &Config, agent: AgentKind, command: &[String]) -> (Vec<String>, Vec<String>) {
    match agent {
        AgentKind::Claude => (
            vec![config.agents.claude.program.clone()],
            config.agents.claude.args.clone(),
        ),
        AgentKind::Codex => (
            vec![config.agents.codex.program.clone()],
            config.agents.codex.args.clone(),
        ),
        AgentKind::Native => (
            vec![own_agent(&config.agents.native.program)],
            config.agents.native.args.clone(),
        ),
        AgentKind::Generic => (command.to_vec(), Vec::new()),
    }
}

/// The own agent is of the same installation as the daemon, unless another program was named.
fn own_agent(program: &str) -> String {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join(program)));
    match beside {
        Some(path) if !program.contains('/') && path.is_file() => {
            path.to_string_lossy().into_owned()
        }
        Some(_) | None => program.to_owned(),
    }
}

/// Writes what the agent needs before it starts, and gives its argument list.
async fn prepare_agent(
    seat: &Seat,
    launch: u32,
    request: LaunchRequest,
    env: &[(String, String)],
    home: Option<&Path>,
) -> Result<Vec<String>, String> {
    let mut request = request;
    // the program is looked up where the shell that asked would find it
    if let Some(program) = request.program.first_mut() {
        *program = find_program(program, env, &seat.record.cwd)?;
    }
    let compact_window = match seat.record.agent {
        AgentKind::Claude => {
            let var = |key: &str| variable(env, key);
            crate::agent_files::claude_compact_window(&request.args, &seat.record.cwd, home, var)
        }
        AgentKind::Codex | AgentKind::Native | AgentKind::Generic => None,
    };
    if seat.extra.compact_window != compact_window {
        seat.handle.send(Wake::Extra(Box::new(move |extra| {
            extra.compact_window = compact_window;
        })));
    }
    let (args, hook_program) = (request.args.clone(), request.hook_program.clone());
    let launching = Launching {
        agent: seat.record.agent,
        args: &args,
        cwd: &seat.record.cwd,
        home,
        hook_program: &hook_program,
        allowed: seat.hub.config.handoff.permissions,
    };
    let given = own_tools::tools(&launching);
    let lacks = match given {
        Ok(tools) => {
            request.tools = Some(tools);
            None
        }
        Err(why) => match seat.record.agent {
            AgentKind::Claude | AgentKind::Codex | AgentKind::Native => {
                Some(format!("started without sm's own tools: {why}"))
            }
            AgentKind::Generic => None,
        },
    };
    let how = own_tools::how(
        seat.record.agent,
        request.tools.as_ref(),
        &request.hook_program,
        env,
        &seat.record.cwd,
    );
    let needs_person = own_tools::person_needed(&launching, &how);
    if seat.extra.handoff_needs_person != needs_person {
        let told = needs_person.clone();
        seat.handle.send(Wake::Extra(Box::new(move |extra| {
            extra.handoff_needs_person = told;
        })));
    }
    let needs_person =
        needs_person.map(|why| format!("a handoff of its own needs a person: {why}"));
    let lacks = [lacks, needs_person];
    let lacks = lacks.into_iter().flatten().collect::<Vec<_>>().join("; ");
    let lacks = Some(lacks).filter(|lacks| !lacks.is_empty());
    seat.event(Event::LaunchPrepared { launch, how, lacks });
    crate::agent_files::prepare(seat, &request, env, home).await
}

/// Whether the agent's program is there, so that nothing is made or changed in vain.
pub fn is_there(
    config: &Config,
    agent: AgentKind,
    command: &[String],
    env: &[(String, String)],
    cwd: &str,
) -> Result<(), String> {
    match program(config, agent, command).0.first() {
        Some(program) => find_program(program, env, cwd).map(|_| ()),
        None => Ok(()),
    }
}

/// The absolute path of a program, by the PATH of the given environment.
pub(crate) fn find_program(
    program: &str,
    env: &[(String, String)],
    cwd: &str,
) -> Result<String, String> {
    if program.contains('/') {
        let path = Path::new(cwd).join(program);
        return if is_executable(&path) {
            Ok(path.to_string_lossy().into_owned())
        } else {
            Err(format!(
                "{} is not a program that can be run",
                path.display()
            ))
        };
    }
    let path = variable(env, "PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    std::env::split_paths(&path)
        .map(|dir| Path::new(cwd).join(dir).join(program))
        .find(|path| is_executable(path))
        .map(|path| path.to_string_lossy().into_owned())
        .ok_or_else(|| format!("the program {program} is not in PATH"))
}

pub(crate) fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// What the programs that tmux starts for a session prove themselves with.
struct Keys {
    launch: String,
    log: String,
}

/// What writes a terminal's output down.
pub fn log_command(hub: &Hub, record: &Record, folder: &Path, key: String) -> Vec<String> {
    let mut log = vec![
        hub.hook_program.clone(),
        "log".into(),
        folder.to_string_lossy().into_owned(),
        "--tty".into(),
        sm_runtime::PANE_TTY.into(),
    ];
    if record.agent == AgentKind::Generic {
        let quiet = hub.config.generic.quiet.as_millis().to_string();
        log.extend(["--quiet-ms".into(), quiet]);
        log.extend(["--session".into(), record.id.to_string()]);
        log.extend(["--key".into(), key]);
    }
    log
}

async fn terminal(seat: &Seat, launch: u32, folder: &Path, keys: Keys) -> Result<Terminal, String> {
    let hub = &seat.hub;
    let id = seat.record.id.to_string();
    let hook = hub.hook_program.clone();
    let log = log_command(hub, &seat.record, folder, keys.log);
    let pane = |name: String| NewPane {
        session_name: name,
        cwd: PathBuf::from(&seat.record.cwd),
        command: vec![
            hook.clone(),
            "launch".into(),
            id.clone(),
            launch.to_string(),
        ],
        env: vec![(wire::LAUNCH_KEY_VAR.into(), keys.launch.clone())],
        log_command: log.clone(),
        cols: seat.extra.cols.max(20),
        rows: seat.extra.rows.max(5),
        history_limit: None,
    };
    let begins = pane(String::new());
    let (cols, rows) = (begins.cols, begins.rows);
    archive::note(hub, &seat.record.id, What::New { cols, rows });
    archive::note_generation(hub, &seat.record.id, seat.record.generation.0);
    let name = seat.record.name.to_string();
    let made = match hub.tmux.create(pane(name.clone())).await {
        Err(sm_runtime::Error::NameTaken(_)) => hub.tmux.create(pane(format!("{name}-{id}"))).await,
        other => other,
    };
    let made = made.map_err(|error| error.to_string())?;
    fault::after("effect", "make pane");
    Ok(Terminal::new(
        made.session_name,
        made.session,
        made.pane,
        made.pid,
    ))
}

/// Whether a pane was made for this launch: by its command, which names both.
pub fn is_made_for(pane: &PaneInfo, id: &SessionId, launch: u32) -> bool {
    pane.command.ends_with(&format!(" launch {id} {launch}"))
}

/// A session that was renamed while its terminal was being made: nobody else has told tmux.
async fn follow_rename(seat: &Seat, made: &Terminal) {
    let mut seen = seat.handle.subscribe();
    // known to all from here on, so that a rename after it finds the terminal itself
    let known =
        seen.wait_for(|p| p.extra.terminal.as_ref() == Some(made) || !p.record.state.is_live());
    let name = match known.await {
        Ok(published) => published.record.name.clone(),
        Err(_) => return,
    };
    if name != seat.record.name {
        rename(&seat.hub, &seat.handle, &name).await;
    }
}

/// Gives the session's terminal its name.
pub async fn rename(hub: &Hub, handle: &Handle, name: &SessionName) {
    let Some(mut terminal) = handle.now().extra.terminal.clone() else {
        return;
    };
    let Some(session) = terminal.session_id() else {
        return;
    };
    if let Ok(new) = hub.tmux.rename_session(session, name.as_str()).await {
        terminal.name = new;
        handle.send(Wake::Terminal(terminal));
    }
}

pub fn variable(env: &[(String, String)], key: &str) -> Option<String> {
    env.iter()
        .rev()
        .find(|(name, _)| name == key)
        .map(|(_, value)| value.clone())
}

fn set(env: &mut Vec<(String, String)>, key: &str, value: &str) {
    env.retain(|(name, _)| name != key);
    env.push((key.to_string(), value.to_string()));
}

/// A conversation id for an agent that lets us name it.
pub fn new_conversation(agent: AgentKind) -> Option<ConversationId> {
    if !kind::profile(agent).names_conversation {
        return None;
    }
    ConversationId::new(clock::uuid()).ok()
}
