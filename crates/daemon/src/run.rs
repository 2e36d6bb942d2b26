//! Starting and stopping the daemon.
//!
//! Order matters: the lock before anything is touched; sessions and spooled hooks before anything but
//! `/health` is answered; what still lives before the first event of a session.

use crate::actor::Wake;
use crate::api;
use crate::api::access::{self, Access};
use crate::api::serve;
use crate::config::{Config, TmuxSocket};
use crate::hub::{Directory, Hub, lock};
use crate::orphans::Journal;
use crate::signin::SignIns;
use crate::watch::{Changed, Watcher};
use crate::{archive, clock, dispatch, fault, ledger, log_writers, orphans, recover, terminal};
use sm_client::paths::Paths;
use sm_runtime::{Socket, Tmux, TmuxConfig};
use sm_store::{OpenNotice, OpenOptions, SqliteStore, Store, Writer};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::AtomicI64;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::{Semaphore, broadcast, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, Default)]
pub struct ServeOptions {
    /// Instead of the one in the config.
    pub port: Option<u16>,
    /// Log to the terminal as well.
    pub foreground: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{0}")]
    Paths(#[from] sm_client::paths::PathError),
    #[error("a daemon of this instance is already running{0}")]
    AlreadyRunning(String),
    #[error("{0}")]
    Config(#[from] crate::config::ConfigError),
    #[error("{0}")]
    Store(#[from] sm_store::StoreError),
    #[error("{what}: {error}")]
    Io { what: String, error: std::io::Error },
}

impl ServeError {
    pub fn hint(&self) -> String {
        match self {
            Self::Paths(_) => {
                "check the permissions of the folder, or choose another with SM_HOME".into()
            }
            Self::AlreadyRunning(_) => "see it with: sm status; stop it with: sm stop".into(),
            Self::Config(error) => error.hint(),
            Self::Store(_) => "sm doctor says more; nothing was changed".into(),
            Self::Io { .. } => "sm doctor says more".into(),
        }
    }
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::AlreadyRunning(_) => 1,
            Self::Paths(_) | Self::Config(_) | Self::Store(_) | Self::Io { .. } => 2,
        }
    }
    fn io(what: impl Into<String>, error: std::io::Error) -> Self {
        Self::Io {
            what: what.into(),
            error,
        }
    }
}

/// How long it may take to find out which sessions live, before anybody is served.
const LIVING_PATIENCE: Duration = Duration::from_secs(2);
/// How long processes that are being ended may take, before we stop without them.
const ENDING_PATIENCE: Duration = Duration::from_secs(15);
/// The end of another daemon takes no longer than this.
const LOCK_PATIENCE: Duration = Duration::from_secs(3);

/// How often the daemon looks whether it can still be reached.
const SOCKET_LOOK: Duration = Duration::from_secs(5);

/// Runs the daemon until it is told to stop.
pub fn run(paths: Paths, options: ServeOptions) -> Result<(), ServeError> {
    paths.ensure_dirs()?;
    let _lock = alone(&paths)?;
    fault::start(paths.state_dir());
    let mut config = Config::load(paths.config_file())?;
    if let Some(port) = options.port {
        config.daemon.port = port;
    }
    crate::logging::start(&paths, &config, options.foreground);
    let older = paths.config_file().with_file_name("config.yaml");
    let read = std::fs::read_to_string(&older).unwrap_or_default();
    if config.context.take_older(&read) {
        tracing::info!(
            "the thresholds of contexts are those of {}; to set them in config.toml: context.thresholds",
            older.display()
        );
    }
    crate::memory::keep_little();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(8)
        .thread_stack_size(1 << 20)
        .enable_all()
        .build()
        .map_err(|error| ServeError::io("the runtime could not be started", error))?;
    let result = runtime.block_on(serve(paths, config));
    runtime.shutdown_timeout(Duration::from_secs(1));
    result
}

/// The lock of this instance; what is in the file is for people only.
fn alone(paths: &Paths) -> Result<File, ServeError> {
    let path = paths.lock_file();
    let open = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path);
    let mut file = open
        .map_err(|error| ServeError::io(format!("{} cannot be opened", path.display()), error))?;
    match lock_or_wait(&file, paths.socket()) {
        Ok(()) => {}
        Err(std::fs::TryLockError::WouldBlock) => {
            let pid = std::fs::read_to_string(&path).unwrap_or_default();
            let whom = if pid.trim().is_empty() {
                String::new()
            } else {
                format!(" (pid {})", pid.trim())
            };
            return Err(ServeError::AlreadyRunning(whom));
        }
        Err(std::fs::TryLockError::Error(error)) => {
            return Err(ServeError::io(
                format!("{} cannot be locked", path.display()),
                error,
            ));
        }
    }
    let _ = file.set_len(0);
    let _ = writeln!(file, "{}", std::process::id());
    if let Err(error) = sm_client::daemon::remember_start(paths) {
        tracing::warn!("a start after a crash will not know how this one was started: {error}");
    }
    let _ = std::fs::remove_file(paths.stopped_marker());
    Ok(file)
}

/// A daemon that was killed or is stopping holds its lock for a moment after it has ceased to
/// listen: whoever was started in its place waits for it.
fn lock_or_wait(file: &File, socket: &Path) -> Result<(), std::fs::TryLockError> {
    let until = Instant::now() + LOCK_PATIENCE;
    loop {
        match file.try_lock() {
            Err(std::fs::TryLockError::WouldBlock)
                if Instant::now() < until
                    && std::os::unix::net::UnixStream::connect(socket).is_err() =>
            {
                std::thread::sleep(Duration::from_millis(10));
            }
            other => return other,
        }
    }
}

async fn serve(paths: Paths, config: Config) -> Result<(), ServeError> {
    let mut open = OpenOptions::new(clock::rfc3339(clock::now()).replace(':', ""));
    open.durability = config.store.durability;
    open.recent_final = 256;
    let opened = SqliteStore::open(&paths.database(), &open)?;
    let (mut loaded, notices) = (opened.loaded, opened.notices);
    let reader = opened.store.reader()?;
    let writer = Writer::spawn(opened.store)
        .map_err(|error| ServeError::io("the journal's thread could not be started", error))?;
    let (tmux, terminal_events) = Tmux::new(tmux_config(&paths, &config));
    let (watcher, file_events) = Watcher::new();
    let hub = Arc::new(Hub {
        hook_program: hook_program(),
        journal: writer.handle(),
        reader: Mutex::new(reader),
        sessions: Directory::default(),
        answers: Default::default(),
        archives: Default::default(),
        replies: Default::default(),
        mailboxes: Default::default(),
        spooling: Default::default(),
        launches: Default::default(),
        endings: Default::default(),
        ledgers: Default::default(),
        watcher,
        generating: Default::default(),
        looking: Arc::new(Semaphore::new(terminal::LOOKING)),
        sign_ins: Arc::new(SignIns::load(paths.signed_in_file())),
        followers: broadcast::channel(4096).0,
        order: Mutex::new(()),
        event_seq: AtomicI64::new(loaded.last_event),
        journaled: AtomicI64::new(loaded.last_event),
        message_seq: AtomicI64::new(loaded.last_message),
        problems: Mutex::new(Vec::new()),
        address: Mutex::new(None),
        started: Instant::now(),
        settled: CancellationToken::new(),
        stop: CancellationToken::new(),
        tmux,
        paths,
        config,
    });
    for notice in &notices {
        hub.problem(explain(notice));
    }
    let servers = open_doors(&hub).await?;
    let outbox = std::mem::take(&mut loaded.outbox);
    let taken_up = orphans::take_up(&hub, &mut loaded.sessions, Journal::after(&notices));
    let waiting = recover::revive(&hub, loaded);
    orphans::journal(&hub, &taken_up);
    let ended = dispatch::spool(&hub).await;
    hub.watcher.watch(
        &hub.paths.spool_dir().join(sm_client::spool::FILE_NAME),
        Changed::Spool,
    );

    tokio::spawn(dispatch::terminals(Arc::clone(&hub), terminal_events));
    let found = tokio::spawn(recover::find_the_living(Arc::clone(&hub), waiting, ended));
    // nobody is told of a session that lives no more; but a tmux that hangs does not keep us
    let _ = tokio::time::timeout(LIVING_PATIENCE, found).await;
    hub.settled.cancel();
    tokio::spawn(orphans::tell_of_unknown_panes(Arc::clone(&hub)));
    tokio::spawn(dispatch::files(Arc::clone(&hub), file_events));
    tokio::spawn(recover::empty_outbox(Arc::clone(&hub), outbox));
    tokio::spawn(archive::keep_up(Arc::clone(&hub)));
    tokio::spawn(log_writers::keep(Arc::clone(&hub)));
    tokio::spawn(ledger::keep_up(Arc::clone(&hub)));
    tracing::info!(pid = std::process::id(), "the daemon serves");
    stopped(&hub).await;
    for server in servers {
        let _ = server.await; // answers under way are finished
    }
    finish(&hub).await;
    let _ = std::fs::remove_file(hub.paths.socket());
    writer.stop();
    tracing::info!("the daemon has stopped; its sessions go on");
    Ok(())
}

/// From now on `/health` is answered; everything else waits until the sessions are settled.
async fn open_doors(hub: &Arc<Hub>) -> Result<Vec<JoinHandle<()>>, ServeError> {
    let unix = listen_unix(&hub.paths)?;
    let token = access::load_or_create_token(&hub.paths.token_file())
        .map_err(|error| ServeError::io("the token could not be made", error))?;
    let tcp = listen_tcp(hub).await;
    let port = tcp
        .as_ref()
        .and_then(|tcp| tcp.local_addr().ok())
        .map(|address| address.port());
    let access = Access::new(token, port).with_documents(hub.config.handoff.max_bytes);
    let access = Arc::new(access);
    let router = access::guard(
        api::router(Arc::clone(hub)),
        access,
        Arc::clone(&hub.sign_ins),
    );
    let limits = serve::Limits::default();
    let stop = hub.stop.clone();
    let mut servers = vec![tokio::spawn(serve::serve_unix(
        unix,
        router.clone(),
        limits,
        stop.clone(),
    ))];
    if let Some(tcp) = tcp {
        servers.push(tokio::spawn(serve::serve_tcp(tcp, router, limits, stop)));
    }
    Ok(servers)
}

async fn stopped(hub: &Hub) {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut interrupt)) = (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) else {
        hub.stop.cancelled().await;
        return;
    };
    tokio::select! {
        () = hub.stop.cancelled() => {
            // said by a person: hooks must not start it again
            let _ = File::create(hub.paths.stopped_marker());
        }
        _ = term.recv() => {}
        _ = interrupt.recv() => {}
        () = socket_lost(hub.paths.socket()) => {
            tracing::warn!("the socket was removed: nobody can reach this daemon any more");
        }
    }
    hub.stop.cancel();
}

/// Ends when the socket is no longer the one we listen on (its folder was cleaned up or removed):
/// a daemon that nobody can reach must not keep the lock from one that can be.
async fn socket_lost(path: &Path) {
    use std::os::unix::fs::MetadataExt;
    let look = || std::fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()));
    let Ok(ours) = look() else {
        return;
    };
    loop {
        tokio::time::sleep(SOCKET_LOOK).await;
        if !look().is_ok_and(|now| now == ours) {
            return;
        }
    }
}

/// Everything that is not yet written is written; sessions go on without us.
async fn finish(hub: &Hub) {
    // who was to be ended is ended by us: nobody would do it after us
    let _ = tokio::time::timeout(ENDING_PATIENCE, hub.endings.over(None)).await;
    for handle in hub.sessions.all() {
        let (tx, rx) = oneshot::channel();
        handle.send(Wake::Finish { done: tx });
        let _ = tokio::time::timeout(Duration::from_secs(2), rx).await;
    }
    let none_left = hub
        .sessions
        .all()
        .iter()
        .all(|h| h.now().extra.terminal.is_none());
    if none_left {
        let end = async {
            // nobody lives in it any more, and nobody else does: it need not stay
            if hub.tmux.list().await.is_ok_and(|panes| panes.is_empty()) {
                let _ = hub.tmux.kill_server().await;
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(2), end).await;
    }
    hub.tmux.close().await;
}

fn tmux_config(paths: &Paths, config: &Config) -> TmuxConfig {
    let socket = match &config.tmux.socket {
        TmuxSocket::Own => Socket::Path(paths.tmux_socket().to_path_buf()),
        TmuxSocket::Name(name) => Socket::Name(name.clone()),
        TmuxSocket::Path(path) => Socket::Path(path.clone()),
    };
    let mut tmux = TmuxConfig::new(socket);
    tmux.program = config.tmux.program.clone().into();
    tmux.config = config.tmux.config.clone();
    tmux.history_limit = config.tmux.history_limit;
    tmux.keeper = vec![hook_program(), "park".into()];
    tmux
}

/// `sm-hook` lies beside `sm`; otherwise it has to be in PATH.
pub fn hook_program() -> String {
    let beside = std::env::current_exe()
        .ok()
        .and_then(|exe| Some(exe.parent()?.join("sm-hook")));
    match beside {
        Some(path) if path.is_file() => path.to_string_lossy().into_owned(),
        Some(_) | None => "sm-hook".into(),
    }
}

fn explain(notice: &OpenNotice) -> String {
    match notice {
        OpenNotice::Migrated { from, to, copy } => {
            format!(
                "the database was brought from version {from} to {to}; the old one was kept as {}",
                copy.display()
            )
        }
        OpenNotice::SetAside { to, reason } => format!(
            "the database was damaged ({reason}) and was set aside as {}; sm began a new one. Its sessions are taken up again from their folders; messages that were queued, and the history, are not: look with `sm ls --all` and `sm queue`, and send again what has not arrived",
            to.display()
        ),
        OpenNotice::Behind {
            events,
            messages,
            log,
        } => {
            let kept = log.as_ref().map_or_else(String::new, |log| {
                format!(". What is left of that file was kept as {}", log.display())
            });
            format!(
                "the journal lacks the end of what it had: {messages} messages and {events} events. Its write-ahead file was damaged, cut or removed, or an older copy of the database was put back. Messages may have been forgotten, and others may be given once more: look with `sm queue` and `sm show`, and send again what has not arrived{kept}"
            )
        }
        OpenNotice::CheckedSound => {
            "damage to the database had been suspected; a full check found none".into()
        }
    }
}

fn listen_unix(paths: &Paths) -> Result<UnixListener, ServeError> {
    let path = paths.socket();
    let _ = std::fs::remove_file(path); // of a daemon that died: we hold the lock
    let listener = UnixListener::bind(path).map_err(|error| {
        ServeError::io(
            format!("the socket {} cannot be made", path.display()),
            error,
        )
    })?;
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path, private)
        .map_err(|error| ServeError::io("the socket cannot be closed to others", error))?;
    Ok(listener)
}

/// The port is a convenience: without it the socket does everything.
async fn listen_tcp(hub: &Hub) -> Option<TcpListener> {
    let port = hub.config.daemon.port;
    if port == 0 {
        return None;
    }
    match TcpListener::bind(("127.0.0.1", port)).await {
        Ok(listener) => {
            *lock(&hub.address) = listener.local_addr().ok();
            Some(listener)
        }
        Err(error) => {
            let whom = crate::peer::listener_of(port)
                .map(|who| format!(" by {who}"))
                .unwrap_or_default();
            hub.problem(format!(
                "port {port} is taken{whom} ({error}); sm goes on with its socket. Choose another with [daemon] port in config.toml or SM_PORT"
            ));
            None
        }
    }
}
