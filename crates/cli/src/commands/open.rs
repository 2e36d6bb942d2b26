//! `sm open`.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;

use crate::client::Daemon;
use crate::error::Result;
use crate::print::{self, Printer};

/// Opens the dashboard in the browser, signed in.
///
/// The link it opens works once, and for a minute; the browser then stays signed in. Over ssh, or
/// where there is no browser, the link is printed instead.
#[derive(Debug, Args)]
pub struct Open {
    /// Print the link, open nothing.
    #[arg(long)]
    print: bool,
}

/// How long a browser may take to say that it cannot be started; one that still runs is there.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(20);

impl Open {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let link = Daemon::open()?.sign_in()?.value;
        let ways = match self.print {
            true => Vec::new(),
            false => browsers(|name| std::env::var_os(name), &link.url),
        };
        if ways.iter().any(|way| opens(way)) {
            return out.line("the dashboard opens in the browser; if it does not: sm open --print");
        }
        out.line(&link.url)?;
        out.flush()?;
        match tunnel(|name| std::env::var(name).ok(), &link.url) {
            Some(tunnel) => print::note(&format!(
                "This is over ssh. On the machine with the browser: `{tunnel}`\n\
                 then open the link there; it works once, until a minute from now. Another: sm open"
            )),
            None if self.print => {}
            None => print::note(
                "No browser was found (BROWSER names one). The link works once, until a minute from now.",
            ),
        }
        Ok(())
    }
}

/// Programs that may open a browser, best first, as they are run.
fn browsers(get: impl Fn(&str) -> Option<OsString>, url: &str) -> Vec<Vec<String>> {
    let set = |name: &str| get(name).filter(|value| !value.is_empty());
    let chosen = set("BROWSER").and_then(|value| value.into_string().ok());
    let mut ways: Vec<Vec<String>> = chosen
        .iter()
        .flat_map(|list| list.split(':'))
        .filter(|entry| !entry.trim().is_empty())
        .map(|entry| with_url(entry, url))
        .collect();
    // a browser on the far side of ssh is of no use; a program that was chosen may know better
    if set("SSH_CONNECTION").is_some() || set("SSH_TTY").is_some() {
        return ways;
    }
    let plain = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned());
        words.chain([url.to_owned()]).collect::<Vec<_>>()
    };
    if cfg!(target_os = "macos") {
        ways.push(plain(&["open"]));
    } else if set("DISPLAY").is_some()
        || set("WAYLAND_DISPLAY").is_some()
        || set("WSL_DISTRO_NAME").is_some()
    {
        // without a display these would start a browser inside this terminal
        ways.extend([
            plain(&["xdg-open"]),
            plain(&["wslview"]),
            plain(&["gio", "open"]),
        ]);
    }
    ways
}

/// `firefox --new-window %s`, or without `%s`: the link is the last word.
fn with_url(entry: &str, url: &str) -> Vec<String> {
    let words: Vec<String> = entry
        .split_whitespace()
        .map(|word| word.replace("%s", url))
        .collect();
    match entry.contains("%s") {
        true => words,
        false => words.into_iter().chain([url.to_owned()]).collect(),
    }
}

/// Starts it, as nobody's job; whether it seems to do what it should.
fn opens(way: &[String]) -> bool {
    let Some((program, words)) = way.split_first() else {
        return false;
    };
    let started = Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let Ok(mut child) = started else {
        return false;
    };
    let until = Instant::now() + PATIENCE;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) if Instant::now() < until => std::thread::sleep(LOOK_EVERY),
            Ok(None) | Err(_) => return true,
        }
    }
}

/// What brings the port to the machine where the person sits.
fn tunnel(get: impl Fn(&str) -> Option<String>, url: &str) -> Option<String> {
    let connection = get("SSH_CONNECTION")?;
    let host = connection.split_whitespace().nth(2).unwrap_or("<host>");
    let user = get("USER").filter(|user| !user.is_empty());
    let at = user.map(|user| format!("{user}@")).unwrap_or_default();
    let rest = url.strip_prefix("http://")?;
    let (address, _) = rest.split_once('/')?;
    let (_, port) = address.rsplit_once(':')?;
    Some(format!("ssh -N -L {port}:127.0.0.1:{port} {at}{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "http://127.0.0.1:8420/signin/ab";

    fn ways(environment: &[(&str, &str)]) -> Vec<String> {
        let get = |name: &str| {
            let found = environment.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| OsString::from(value))
        };
        let ways = browsers(get, URL);
        ways.iter().map(|way| way.join(" ")).collect()
    }

    #[test]
    fn the_chosen_browser_comes_first() {
        assert_eq!(
            ways(&[
                ("BROWSER", "firefox --new-tab=%s:w3m"),
                ("SSH_TTY", "/dev/pts/1")
            ]),
            [format!("firefox --new-tab={URL}"), format!("w3m {URL}")]
        );
        assert_eq!(
            ways(&[("SSH_CONNECTION", "a b c d"), ("DISPLAY", ":0")]),
            [""; 0]
        );
    }

    #[cfg(not(target_os = "macos"))]
    #[test]
    fn without_a_display_there_is_no_browser() {
        assert_eq!(ways(&[]), [""; 0]);
        assert_eq!(ways(&[("DISPLAY", ""), ("BROWSER", "")]), [""; 0]);
        assert_eq!(ways(&[("DISPLAY", ":0")])[0], format!("xdg-open {URL}"));
    }

    #[test]
    fn over_ssh_the_way_back_is_said() {
        let environment = |name: &str| match name {
            "SSH_CONNECTION" => Some("10.0.0.9 50000 10.0.0.5 22".to_owned()),
            "USER" => Some("ann".to_owned()),
            _ => None,
        };
        assert_eq!(
            tunnel(environment, URL).as_deref(),
            Some("ssh -N -L 8420:127.0.0.1:8420 ann@10.0.0.5")
        );
        assert_eq!(tunnel(|_| None, URL), None);
    }
}
