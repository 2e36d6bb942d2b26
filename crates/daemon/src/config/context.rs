//! How contexts are watched: thresholds for everybody, for one agent, one project or one session.

use sm_core::{AgentKind, Level, Monitor, OnCompaction, Texts, Threshold};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What `[context]` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Context {
    pub rules: Vec<Rule>,
    pub on_compaction: OnCompaction,
    pub wording: Wording,
    /// Own texts; empty: the wording's.
    pub warning: Option<String>,
    pub critical: Option<String>,
    /// The rules were written in `config.toml`: an older file does not go before them.
    pub own_rules: bool,
}

/// One threshold, or none at all, for whom it is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub whom: Whom,
    /// None: these are not watched.
    pub threshold: Option<Threshold>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whom {
    All,
    Agent(AgentKind),
    /// Sessions at work in this folder or below it.
    Project(PathBuf),
    Session(String),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wording {
    #[default]
    Plain,
    /// Without pressure and without capitals.
    Neutral,
}

impl Wording {
    pub const ALL: [Self; 2] = [Self::Plain, Self::Neutral];
    pub const NAMES: [&'static str; 2] = ["plain", "neutral"];
}

impl Default for Context {
    fn default() -> Self {
        let threshold = |percent, level| Rule {
            whom: Whom::All,
            threshold: Some(Threshold { percent, level }),
        };
        Self {
            rules: vec![
                threshold(50, Level::Warning),
                threshold(65, Level::Critical),
            ],
            on_compaction: OnCompaction::Allow,
            wording: Wording::Plain,
            warning: None,
            critical: None,
            own_rules: false,
        }
    }
}

impl Rule {
    /// `50 warning`, `codex: 80 critical`, `/home/me/app: 40 warning`, `session api: off`.
    pub fn parse(text: &str, path: impl Fn(&str) -> Option<PathBuf>) -> Option<Self> {
        let (whom, rule) = match text.rsplit_once(':') {
            Some((whom, rule)) => (Some(whom.trim()), rule.trim()),
            None => (None, text.trim()),
        };
        let whom = match whom {
            None => Whom::All,
            Some(whom) => match whom.strip_prefix("session ") {
                Some(name) if !name.trim().is_empty() => Whom::Session(name.trim().to_string()),
                Some(_) => return None,
                None if whom.starts_with(['/', '~']) => Whom::Project(path(whom)?),
                None => Whom::Agent(AgentKind::parse(whom)?),
            },
        };
        if rule == "off" {
            return Some(Self {
                whom,
                threshold: None,
            });
        }
        let (percent, level) = rule.split_once(char::is_whitespace)?;
        let percent = percent.trim_end_matches('%').parse().ok()?;
        let level = Level::ALL
            .into_iter()
            .find(|known| known.word() == level.trim())?;
        (1..=100).contains(&percent).then_some(Self {
            whom,
            threshold: Some(Threshold { percent, level }),
        })
    }

    /// How closely it fits this session; None: not at all.
    fn fits(&self, agent: AgentKind, name: &str, cwd: &Path) -> Option<usize> {
        const SESSION: usize = usize::MAX;
        match &self.whom {
            // its own agent hands over by itself: alerts only where they are asked for
            Whom::All => (agent != AgentKind::Native).then_some(0),
            Whom::Agent(own) => (*own == agent).then_some(1),
            Whom::Project(folder) => cwd
                .starts_with(folder)
                .then(|| 2 + folder.components().count()),
            Whom::Session(own) => (own == name).then_some(SESSION),
        }
    }
}

impl Context {
    /// How this session is watched: by the rules that fit it most closely.
    pub fn monitor(&self, agent: AgentKind, name: &str, cwd: &Path) -> Monitor {
        let fits = |rule: &Rule| rule.fits(agent, name, cwd);
        let closest = self.rules.iter().filter_map(fits).max();
        let rules = self
            .rules
            .iter()
            .filter(|rule| closest.is_some() && fits(rule) == closest);
        let mut thresholds: Vec<Threshold> = rules.filter_map(|rule| rule.threshold).collect();
        thresholds.sort_unstable();
        // of two at the same place the graver one speaks
        thresholds.dedup_by(|later, kept| {
            let same = later.percent == kept.percent;
            if same {
                kept.level = kept.level.max(later.level);
            }
            same
        });
        let mut texts = match self.wording {
            Wording::Plain => Texts::default(),
            Wording::Neutral => Texts::neutral(),
        };
        if let Some(text) = &self.warning {
            texts.warning_agent = text.clone().into();
        }
        if let Some(text) = &self.critical {
            texts.critical_agent = text.clone().into();
        }
        // what is usual is there once for all sessions
        let usual = Monitor::default();
        Monitor {
            enabled: !thresholds.is_empty(),
            thresholds: match thresholds == *usual.thresholds {
                true => usual.thresholds,
                false => thresholds.into(),
            },
            on_compaction: self.on_compaction,
            texts: match texts == *usual.texts {
                true => usual.texts,
                false => Arc::new(texts),
            },
            ..usual
        }
    }

    /// The thresholds of an older `config.yaml`, if `config.toml` has none of its own. Only the three
    /// keys below `context_monitor` are read; everything else of that file is left alone.
    pub fn take_older(&mut self, yaml: &str) -> bool {
        if self.own_rules {
            return false;
        }
        let mut inside = false;
        let (mut enabled, mut warning, mut critical) = (true, 50, 65);
        let mut found = false;
        for line in yaml.lines().take(10_000) {
            let line = line.split('#').next().unwrap_or_default().trim_end();
            if line.trim().is_empty() {
                continue;
            }
            if !line.starts_with([' ', '\t']) {
                inside = line.trim_end_matches(':') == "context_monitor" && line.ends_with(':');
                continue;
            }
            let Some((key, value)) = line.trim().split_once(':').filter(|_| inside) else {
                continue;
            };
            let value = value.trim();
            let percent = value.parse::<u8>().ok().filter(|n| (1..=100).contains(n));
            match (key.trim(), percent) {
                ("enabled", _) if value == "false" => (enabled, found) = (false, true),
                ("enabled", _) => found = true,
                ("warning_percentage", Some(n)) => (warning, found) = (n, true),
                ("critical_percentage", Some(n)) => (critical, found) = (n, true),
                _ => {}
            }
        }
        if found {
            let rule = |threshold| Rule {
                whom: Whom::All,
                threshold,
            };
            let at = |percent, level| rule(Some(Threshold { percent, level }));
            self.rules = match enabled {
                true => vec![at(warning, Level::Warning), at(critical, Level::Critical)],
                false => vec![rule(None)],
            };
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(text: &str) -> Option<Rule> {
        Rule::parse(text, |path| {
            Some(PathBuf::from(path.replace('~', "/home/me")))
        })
    }
    fn context(rules: &[&str]) -> Context {
        Context {
            rules: rules.iter().map(|text| rule(text).unwrap()).collect(),
            ..Context::default()
        }
    }
    fn at(context: &Context, agent: AgentKind, name: &str, cwd: &str) -> Vec<(u8, &'static str)> {
        let monitor = context.monitor(agent, name, Path::new(cwd));
        let all = monitor.thresholds.iter();
        all.map(|t| (t.percent, t.level.word())).collect()
    }

    #[test]
    fn rules_are_read_or_refused() {
        for text in [
            "50 warning",
            "65% critical",
            "codex: 80 critical",
            "/srv/app: 40 warning",
            "~/app: off",
            "session api: 30 warning",
            "off",
        ] {
            assert!(rule(text).is_some(), "{text}");
        }
        for text in [
            "",
            "50",
            "warning",
            "0 warning",
            "101 critical",
            "50 loud",
            "vim: 50 warning",
            "session : off",
            "-1 warning",
        ] {
            assert!(rule(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_closest_rules_count_and_no_others() {
        let context = context(&[
            "50 warning",
            "65 critical",
            "codex: 80 critical",
            "/srv: 40 warning",
            "/srv/app: 30 warning",
            "session api: off",
        ]);
        let claude = AgentKind::Claude;
        assert_eq!(
            at(&context, claude, "x", "/tmp"),
            [(50, "warning"), (65, "critical")]
        );
        assert_eq!(
            at(&context, AgentKind::Codex, "x", "/tmp"),
            [(80, "critical")]
        );
        assert_eq!(at(&context, claude, "x", "/srv/other"), [(40, "warning")]);
        assert_eq!(
            at(&context, AgentKind::Codex, "x", "/srv/app/deep"),
            [(30, "warning")]
        );
        assert_eq!(at(&context, claude, "x", "/srv/apple"), [(40, "warning")]);
        let off = context.monitor(claude, "api", Path::new("/srv/app"));
        assert!(!off.enabled);
    }

    #[test]
    fn the_graver_of_two_at_one_place_speaks() {
        let context = context(&["60 critical", "60 warning", "50 warning"]);
        assert_eq!(
            at(&context, AgentKind::Claude, "x", "/"),
            [(50, "warning"), (60, "critical")]
        );
    }

    #[test]
    fn the_thresholds_of_an_older_file_are_taken_if_there_are_no_own() {
        let yaml = "server:\n  port: 1\n  warning_percentage: 9\ncontext_monitor:\n  enabled: true\n  warning_percentage: 40   # early\n  critical_percentage: 60\nother: 1\n";
        let mut context = Context::default();
        assert!(context.take_older(yaml));
        assert_eq!(
            at(&context, AgentKind::Claude, "x", "/"),
            [(40, "warning"), (60, "critical")]
        );
        let mut off = Context::default();
        assert!(off.take_older("context_monitor:\n  enabled: false\n"));
        assert!(!off.monitor(AgentKind::Claude, "x", Path::new("/")).enabled);
        let mut own = Context {
            own_rules: true,
            ..Context::default()
        };
        assert!(!own.take_older(yaml));
        assert!(!Context::default().take_older("nothing: here\n"));
    }
}
