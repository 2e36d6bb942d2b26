//! From arguments, configuration and environment to an agent that can begin.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sm_agents::OwnTools;
use sm_client::{Footprint, Paths};
use sm_llm::{Client, Places};

use crate::approval::{Approvals, Mode, Person, Rule, RuleError};
use crate::args::AgentArgs;
use crate::config::{Config, ConfigError, thinking};
use crate::host::{Opening, Options, Variables};
use crate::models::{self, ModelError};
use crate::prompt;
use crate::session::{self, SessionError};

/// Why an agent cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("sm's folders cannot be found: {0}")]
    Paths(String),
    #[error("{}: {source}", path.display())]
    Directory {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("no session of {} yet: start one with `sm agent`", .0.display())]
    NoSession(PathBuf),
    #[error("{0:?} is no level of thinking: write off, minimal, low, medium, high or xhigh")]
    Thinking(String),
}

/// Where everything of the agent is.
#[derive(Debug, Clone)]
pub struct Folders {
    pub config: PathBuf,
    /// What sm has put outside of its own folders.
    pub footprint: Option<Footprint>,
    pub sessions: PathBuf,
    pub outputs: PathBuf,
}

impl Folders {
    pub fn from_env() -> Result<Self, SetupError> {
        let paths = Paths::from_env().map_err(|error| SetupError::Paths(error.to_string()))?;
        Ok(Self {
            config: paths.config_file().with_file_name("agent.toml"),
            footprint: Some(Footprint::of(&paths)),
            sessions: paths.data_dir().join("agent").join("sessions"),
            outputs: paths.data_dir().join("agent").join("outputs"),
        })
    }
}

impl Folders {
    /// Where prompt templates are that count in this working directory.
    pub fn prompts(&self, cwd: &Path) -> Vec<PathBuf> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        crate::templates::folders(cwd, &self.config, home.as_deref())
    }

    /// What a person has typed in this working directory; beside the sessions of all of them.
    pub fn history(&self, cwd: &Path) -> PathBuf {
        let folder = session::folder_of(&self.sessions, cwd);
        let name = folder.file_name().unwrap_or_default();
        self.sessions.with_file_name("history").join(name)
    }
}

/// Everything an agent begins with, and what its person should hear first.
pub struct Ready {
    pub options: Options,
    pub opening: Opening,
    pub notices: Vec<String>,
}

/// `chosen` is the session that a person has picked where none was named.
pub async fn ready(
    args: &AgentArgs,
    folders: &Folders,
    person: Person,
    chosen: Option<&Path>,
) -> Result<Ready, SetupError> {
    let config = Config::load(&folders.config)?;
    let cwd = directory(args.cwd.as_deref())?;
    let mut notices = Vec::new();
    let opening = match (chosen, &args.resume) {
        (Some(path), _) => Opening::resume(path)?,
        (None, Some(wanted)) if !wanted.is_empty() => {
            Opening::resume(&session::find(&folders.sessions, &cwd, wanted)?)?
        }
        (None, Some(_)) => Opening::resume(&newest(folders, &cwd)?)?,
        (None, None) if args.go_on => Opening::resume(&newest(folders, &cwd)?)?,
        (None, None) => match &args.session_id {
            Some(id) if sm_client::wire::is_plain_word(id) => Opening::named(id.clone()),
            Some(_) | None => Opening::new(),
        },
    };
    if let Some(torn) = &opening.torn {
        notices.push(format!(
            "The last line of the session was cut by a crash; its bytes are in {}.",
            torn.display()
        ));
    }
    let variables: Variables = Arc::new(|name: &str| std::env::var(name).ok());
    let places = Places::usual(variables("OLLAMA_HOST").as_deref());
    let wanted = args.model.as_deref().or(opening.model());
    let model = match models::choose(wanted, &config, &*variables, &places).await {
        Err(error) if args.model.is_none() && wanted.is_some() => {
            let other = models::choose(None, &config, &*variables, &places).await?;
            notices.push(format!(
                "{error}; going on with {}/{}.",
                other.provider, other.id
            ));
            other
        }
        found => found?,
    };
    let level = match &args.thinking {
        Some(word) => Some(thinking(word).ok_or_else(|| SetupError::Thinking(word.clone()))?),
        None => None,
    };
    let texts = config.approvals.allow.iter().chain(&args.allow);
    let rules: Result<Vec<Rule>, RuleError> = texts.map(|text| Rule::parse(text, &cwd)).collect();
    let mode = if args.yes {
        Mode::All
    } else {
        config.approvals.mode
    };
    let options = Options {
        system: system(&cwd, &config),
        approvals: Approvals::new(mode, person, &cwd, rules?),
        thinking: level.or(opening.thinking()).unwrap_or(config.thinking),
        config,
        config_path: folders.config.clone(),
        footprint: folders.footprint.clone(),
        sessions: folders.sessions.clone(),
        outputs: folders.outputs.clone(),
        cwd,
        model,
        client: Arc::new(Client::new()),
        variables,
        own_tools: args.tools_by.clone().map(|program| OwnTools {
            program,
            allowed: !args.ask_to_hand_over,
        }),
    };
    Ok(Ready {
        options,
        opening,
        notices,
    })
}

/// What an agent that begins here and now tells its model about itself.
pub fn system(cwd: &Path, config: &Config) -> String {
    let instructions = match config.prompt.project {
        true => prompt::instructions(cwd),
        false => Vec::new(),
    };
    let place = prompt::Place {
        cwd: cwd.to_path_buf(),
        system: std::env::consts::OS,
        date: jiff::Zoned::now().date().to_string(),
    };
    prompt::system(&place, &instructions, config.prompt.append.as_deref())
}

/// The working directory, links followed: what is inside of it is told by its path.
fn directory(named: Option<&Path>) -> Result<PathBuf, SetupError> {
    let path = named.unwrap_or(Path::new("."));
    let failed = |source| SetupError::Directory {
        path: path.to_path_buf(),
        source,
    };
    let cwd = path.canonicalize().map_err(failed)?;
    match cwd.is_dir() {
        true => Ok(cwd),
        false => Err(failed(std::io::ErrorKind::NotADirectory.into())),
    }
}

fn newest(folders: &Folders, cwd: &Path) -> Result<PathBuf, SetupError> {
    let newest = session::list(&folders.sessions, cwd).into_iter().next();
    newest
        .map(|summary| summary.path)
        .ok_or_else(|| SetupError::NoSession(cwd.to_path_buf()))
}
