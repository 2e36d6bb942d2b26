//! `sm-hook launch <session> <launch>`.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::support::{
    Asked, Home, Reply, Running, Server, ok, read_all, run, wait_for, wait_for_file,
};

const SECRET: &str = "the-launched-secret";

fn plan(argv: &[&str], env: &[(&str, &str)], cwd: &Path) -> Reply {
    ok(&json!({"argv": argv, "env": env, "cwd": cwd.to_str().unwrap()}).to_string())
}

fn exit() -> Reply {
    ok("{\"action\":\"exit\"}")
}

fn report<'a>(asked: &'a [Asked], name: &str) -> Vec<&'a Asked> {
    asked
        .iter()
        .filter(|asked| asked.path.ends_with(name))
        .collect()
}

fn wait_report(server: &Server, name: &str) -> Value {
    wait_for(name, || {
        report(&server.asked(), name)
            .first()
            .map(|asked| asked.json())
    })
}

#[test]
fn the_agent_gets_exactly_what_the_daemon_says() {
    let home = Home::new();
    let cwd = home.path("work dir");
    fs::create_dir(&cwd).unwrap();
    let (out, place) = (home.path("out"), cwd.clone());
    let script = "printf '%s\\0' \"$0\" \"$@\" > \"$OUT/argv\"; pwd -P > \"$OUT/cwd\"; cat /proc/self/environ > \"$OUT/env\"; exit 7";
    fs::create_dir(&out).unwrap();
    let out_text = out.to_str().unwrap().to_owned();
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/3" => plan(
            &["/bin/sh", "-c", script, "zero", "one two", "", "ü\n\"$x"],
            &[
                ("OUT", &out_text),
                ("PATH", "/usr/bin:/bin"),
                ("SM_SESSION_SECRET", SECRET),
                ("MULTI", "a\nb=c"),
                ("EMPTY", ""),
                ("TERM", "from-the-shell"),
            ],
            &place,
        ),
        _ => exit(),
    });
    let mut command = home.command(&["launch", "s-1", "3"]);
    command
        .env("TMUX", "/t,1,0")
        .env("TMUX_PANE", "%5")
        .env("TERM", "tmux-256color")
        .env("OTHER", "not for the agent");
    let ran = run(&mut command, b"");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(7), ""));
    assert_eq!(
        fs::read_to_string(out.join("argv")).unwrap(),
        "zero\0one two\0\0ü\n\"$x\0"
    );
    assert_eq!(
        fs::read_to_string(out.join("cwd")).unwrap().trim_end(),
        cwd.canonicalize().unwrap().to_str().unwrap()
    );
    let env = fs::read_to_string(out.join("env")).unwrap();
    let mut env: Vec<&str> = env
        .split_terminator('\0')
        // The shell's own.
        .filter(|entry| {
            !["PWD=", "OLDPWD=", "SHLVL=", "_="]
                .iter()
                .any(|own| entry.starts_with(own))
        })
        .collect();
    env.sort_unstable();
    let expected_out = format!("OUT={}", out.display());
    assert_eq!(
        env,
        [
            "EMPTY=",
            "MULTI=a\nb=c",
            expected_out.as_str(),
            "PATH=/usr/bin:/bin",
            "SM_SESSION_SECRET=the-launched-secret",
            "TERM=tmux-256color",
            "TMUX=/t,1,0",
            "TMUX_PANE=%5",
        ]
    );
    let asked = server.asked();
    let paths: Vec<&str> = asked.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/launch/s-1/3",
            "/launch/s-1/3/started",
            "/launch/s-1/3/exited"
        ]
    );
    assert_eq!(
        asked[2].json(),
        json!({"launch": "3", "code": 7, "signal": null, "from_outside": false})
    );
    let started = asked[1].json();
    assert!(started["pid"].as_u64().unwrap() > 1 && started["start"].is_u64());
    assert_eq!(asked[1].header("x-sm-session"), Some("s-1"));
    assert_eq!(asked[1].header("x-sm-secret"), Some(SECRET));
}

#[test]
fn the_secret_is_nowhere_to_be_seen_and_signals_are_passed_on() {
    let home = Home::new();
    let root = home.path("");
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        // Interrupts are the agent's own business, TERM ends it in its own way.
        "/launch/s-1/1" => plan(
            &[
                "/bin/sh",
                "-c",
                "trap 'echo term; exit 9' TERM; echo ready; while :; do sleep 0.05; done",
            ],
            &[("PATH", "/usr/bin:/bin"), ("SM_SESSION_SECRET", SECRET)],
            &root,
        ),
        _ => exit(),
    });
    let mut running = Running::start(&mut home.command(&["launch", "s-1", "1"]));
    let stdout = running.child.stdout.take().unwrap();
    let pid = running.child.id();
    let started = wait_report(&server, "/started");
    let agent = u32::try_from(started["pid"].as_u64().unwrap()).unwrap();
    let process = sm_client::Process::of(agent).unwrap();
    assert_eq!(process.start, started["start"].as_u64().unwrap());
    for file in ["cmdline", "environ"] {
        let shown = fs::read(format!("/proc/{pid}/{file}")).unwrap();
        let shown = String::from_utf8_lossy(&shown);
        assert!(!shown.contains(SECRET), "{shown}");
    }
    // The terminal's keys do not end the launcher.
    for key in [2, 3, 20] {
        sm_client::platform::signal_process(pid, key).unwrap();
    }
    // What the agent ignores or not is its own choice: it starts with nothing ignored.
    let status = fs::read_to_string(format!("/proc/{agent}/status")).unwrap();
    let ignored = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .unwrap();
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    for signal in [1, 2, 3, 13, 15, 20, 21, 22] {
        assert_eq!(ignored & (1 << (signal - 1)), 0, "signal {signal}");
    }
    // Same process group: the agent owns the terminal when the launcher does.
    assert_eq!(group(agent), group(pid));
    wait_until_trapping(agent);
    sm_client::platform::signal_process(pid, 15).unwrap();
    assert_eq!(running.wait().code(), Some(9));
    assert_eq!(read_all(stdout), "ready\nterm\n");
    assert_eq!(wait_report(&server, "/exited")["code"], 9);
}

/// The shell has set its trap when the kernel says that it catches TERM.
fn wait_until_trapping(pid: u32) {
    wait_for("trap", || {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let caught = status
            .lines()
            .find_map(|line| line.strip_prefix("SigCgt:"))?
            .trim()
            .to_owned();
        (u64::from_str_radix(&caught, 16).ok()? & (1 << 14) != 0).then_some(())
    });
}

fn group(pid: u32) -> String {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let rest = stat.rsplit_once(')').unwrap().1.to_owned();
    rest.split_whitespace().nth(2).unwrap().to_owned()
}

#[test]
fn an_agent_killed_by_a_signal_is_reported_so() {
    let home = Home::new();
    let root = home.path("");
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/1" => plan(&["/bin/sh", "-c", "kill -9 $$"], &[], &root),
        _ => exit(),
    });
    let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
    assert_eq!(ran.code, Some(128 + 9));
    assert_eq!(
        wait_report(&server, "/exited"),
        json!({"launch": "1", "code": null, "signal": 9, "from_outside": false})
    );
}

#[test]
fn an_agent_that_ends_with_its_terminal_is_reported_so() {
    for signal in ["HUP", "TERM"] {
        let home = Home::new();
        let root = home.path("");
        let script = format!("kill -{signal} $PPID; exec sleep 600");
        let server = Server::start(&home, move |asked| match asked.path.as_str() {
            "/launch/s-1/1" => plan(&["/bin/sh", "-c", &script], &[], &root),
            _ => exit(),
        });
        let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
        assert!(ran.code > Some(128), "{:?}", ran.code);
        let report = wait_report(&server, "/exited");
        assert_eq!(report["from_outside"], true, "{report}");
    }
}

#[test]
fn a_relaunch_has_new_arguments_and_the_same_environment() {
    let home = Home::new();
    let root = home.path("");
    let out = home.path("out");
    let script = "echo \"$0 $SM_SESSION_SECRET $PWD\" >> \"$OUT\"; exit 4";
    let out_text = out.to_str().unwrap().to_owned();
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/1" => plan(
            &["/bin/sh", "-c", script, "first"],
            &[("OUT", &out_text), ("SM_SESSION_SECRET", SECRET)],
            &root,
        ),
        "/launch/s-1/1/exited" => ok(&json!({"action": "relaunch", "launch": 2,
            "argv": ["/bin/sh", "-c", script, "second"]})
        .to_string()),
        _ => exit(),
    });
    let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
    assert_eq!(ran.code, Some(4));
    let text = fs::read_to_string(&out).unwrap();
    let words: Vec<Vec<&str>> = text
        .lines()
        .map(|line| line.split(' ').take(2).collect())
        .collect();
    assert_eq!(words, [["first", SECRET], ["second", SECRET]]);
    let asked = server.asked();
    let paths: Vec<&str> = asked.iter().map(|asked| asked.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/launch/s-1/1",
            "/launch/s-1/1/started",
            "/launch/s-1/1/exited",
            "/launch/s-1/2/started",
            "/launch/s-1/2/exited",
        ]
    );
}

#[test]
fn the_environment_is_lent_when_it_is_asked_for_and_never_spooled() {
    let home = Home::new();
    let root = home.path("");
    let asked = AtomicUsize::new(0);
    let server = Server::start(&home, move |request| match request.path.as_str() {
        "/launch/s-1/1" => plan(
            &["/bin/true"],
            &[("SM_SESSION_SECRET", SECRET), ("ODD", "a \"quoted\"\nline")],
            &root,
        ),
        "/launch/s-1/1/exited" => match asked.fetch_add(1, Ordering::Relaxed) {
            0 | 1 => ok(&json!({"action": "wait"}).to_string()),
            2 => ok(&json!({"action": "environment"}).to_string()),
            _ => ok(
                &json!({"action": "relaunch", "launch": 2, "argv": ["/bin/sh", "-c", "exit 5"]})
                    .to_string(),
            ),
        },
        _ => exit(),
    });
    let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let all = server.asked();
    let lent: Vec<&Asked> = all
        .iter()
        .filter(|asked| asked.path.ends_with("/environment"))
        .collect();
    assert_eq!(lent.len(), 1);
    assert_eq!(lent[0].path, "/launch/s-1/1/environment");
    assert_eq!(lent[0].header("x-sm-secret"), Some(SECRET));
    assert_eq!(
        lent[0].json()["env"],
        json!([["SM_SESSION_SECRET", SECRET], ["ODD", "a \"quoted\"\nline"]])
    );
    assert_eq!(home.spooled(), [] as [serde_json::Value; 0]);
    let reports = all.iter().filter(|a| a.path.ends_with("/1/exited"));
    let mut ids: Vec<Option<&str>> = reports.map(|a| a.header("x-sm-event-id")).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "one report, however often it is repeated");
}

#[test]
fn what_cannot_start_says_why() {
    let home = Home::new();
    for (argv, cwd, why) in [
        ("/bin/true", "gone", "is gone"),
        ("/no/such/program", "", "cannot run /no/such/program: "),
        ("bin\u{0}ary", "", "cannot run"),
    ] {
        let cwd = home.path(cwd);
        let server = Server::start(&home, move |asked| match asked.path.as_str() {
            "/launch/s-1/1" => plan(&[argv], &[], &cwd),
            _ => ok(""),
        });
        let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
        assert_eq!(ran.code, Some(127));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
        let failed = wait_report(&server, "/failed");
        assert!(failed["error"].as_str().unwrap().contains(why), "{failed}");
        assert_eq!(report(&server.asked(), "/started").len(), 0);
    }
}

#[test]
fn a_launch_that_the_daemon_refuses_is_not_tried_again() {
    let home = Home::new();
    let server = Server::start(&home, |_| {
        Reply::Text(
            409,
            "{\"error\":\"already launched\",\"hint\":\"see sm ls\"}".to_owned(),
        )
    });
    let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
    assert_eq!(
        (ran.code, ran.stderr.as_str()),
        (Some(1), "sm: already launched\nsm: see sm ls\n")
    );
    assert_eq!(server.asked().len(), 1);
}

#[test]
fn a_daemon_that_comes_up_late_is_waited_for() {
    let home = Home::new();
    let mut running = Running::start(&mut home.command(&["launch", "s-1", "1"]));
    // It has found none, and started one.
    assert_eq!(wait_for_file(&home.path("started")), "serve\n");
    let root = home.path("");
    let _server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/1" => plan(&["/bin/sh", "-c", "exit 5"], &[], &root),
        _ => exit(),
    });
    assert_eq!(running.wait().code(), Some(5));
}

#[test]
fn without_a_daemon_it_gives_up_with_advice() {
    let home = Home::new();
    let ran = run(&mut home.command(&["launch", "s-1", "1"]), b"");
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("no daemon is listening"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("sm restore s-1"), "{}", ran.stderr);
}

#[test]
fn an_end_that_no_daemon_hears_is_spooled_and_told_when_it_is_back() {
    let home = Home::new();
    let (root, go) = (home.path(""), home.path("go"));
    let script = format!(
        "while [ ! -e {} ]; do sleep 0.02; done; exit 6",
        go.display()
    );
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/1" => plan(
            &["/bin/sh", "-c", &script],
            &[("PATH", "/usr/bin:/bin")],
            &root,
        ),
        _ => exit(),
    });
    let mut running = Running::start(&mut home.command(&["launch", "s-1", "1"]));
    wait_report(&server, "/started");
    drop(server);
    fs::write(go, "").unwrap();
    let line = wait_for("spooled end", || home.spooled().into_iter().next());
    assert_eq!(
        (&line["agent"], &line["event"], &line["session"]),
        (&json!("launch"), &json!("exited"), &json!("s-1"))
    );
    let body: Value = serde_json::from_str(line["body"].as_str().unwrap()).unwrap();
    assert_eq!(
        body,
        json!({"launch": "1", "code": 6, "signal": null, "from_outside": false})
    );
    let server = Server::start(&home, |_| exit());
    assert_eq!(running.wait().code(), Some(6));
    let asked = server.wait_asked(1);
    assert_eq!(line["id"], asked.header("x-sm-event-id").unwrap());
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn a_hangup_while_waiting_ends_it() {
    let home = Home::new();
    let root = home.path("");
    let tries = AtomicUsize::new(0);
    let server = Server::start(&home, move |asked| match asked.path.as_str() {
        "/launch/s-1/1" => plan(&["/bin/sh", "-c", "exit 3"], &[], &root),
        path if path.ends_with("/exited") => {
            tries.fetch_add(1, Ordering::SeqCst);
            Reply::Text(503, String::new())
        }
        _ => ok(""),
    });
    let mut running = Running::start(home.command(&["launch", "s-1", "1"]).stdin(Stdio::null()));
    wait_report(&server, "/exited");
    sm_client::platform::signal_process(running.child.id(), 1).unwrap();
    assert_eq!(running.wait().code(), Some(3));
}

#[test]
fn park_waits_for_its_end_without_working() {
    let home = Home::new();
    for signal in [15, 1] {
        let mut running = Running::start(&mut home.command(&["park"]));
        let pid = running.child.id();
        wait_for("sleep", || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            stat.rsplit_once(')')?
                .1
                .trim_start()
                .starts_with('S')
                .then_some(())
        });
        assert_eq!(running.child.try_wait().unwrap(), None);
        sm_client::platform::signal_process(pid, signal).unwrap();
        let status = running.wait();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(signal)
        );
    }
}
