//! `sm open`: the link, and who gets it.

use crate::fake::{Fake, Reply};
use serde_json::json;

const URL: &str = "http://127.0.0.1:8420/signin/ab12";

fn fake() -> Fake {
    Fake::new(|_| {
        Reply::Json(
            200,
            json!({"url": URL, "expires_at": "2026-01-01T10:00:00Z"}),
        )
    })
}

#[test]
fn the_link_alone_is_printed() {
    let fake = fake();
    let ran = fake.run(&["open", "--print"]).exits(0);
    assert_eq!(
        (ran.out.as_str(), ran.err.as_str()),
        (&*format!("{URL}\n"), "")
    );
    assert!(fake.seen()[0].is("POST", "/signin"));
    // without a browser it is printed too, and why is said
    let ran = fake.run(&["open"]).exits(0);
    assert_eq!(ran.out, format!("{URL}\n"));
    ran.complains("No browser");
}

#[test]
fn a_browser_is_given_the_link_and_nothing_is_printed() {
    let fake = fake();
    let told = fake.home.path().join("told");
    let browser = fake
        .home
        .script("browser", &format!("echo \"$1\" > {}", told.display()));
    let mut command = fake.sm(&["open"]);
    command.env("BROWSER", format!("/no/such/browser:{}", browser.display()));
    let ran = crate::fake::Ran::from(command.output().unwrap()).exits(0);
    assert!(!ran.out.contains("signin"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(told).unwrap(), format!("{URL}\n"));
}

#[test]
fn over_ssh_the_tunnel_is_said() {
    let fake = fake();
    let mut command = fake.sm(&["open"]);
    command
        .env("SSH_CONNECTION", "10.0.0.9 50000 10.0.0.5 22")
        .env("USER", "ann")
        .env("DISPLAY", ":0");
    let ran = crate::fake::Ran::from(command.output().unwrap()).exits(0);
    assert_eq!(ran.out, format!("{URL}\n"));
    ran.complains("ssh -N -L 8420:127.0.0.1:8420 ann@10.0.0.5");
}

#[test]
fn a_daemon_without_a_port_says_what_to_do() {
    let fake = Fake::new(|_| {
        Reply::Json(
            409,
            json!({"error": "port 8420 is taken by nginx", "hint": "SM_PORT"}),
        )
    });
    fake.run(&["open"])
        .exits(1)
        .complains("taken by nginx")
        .complains("SM_PORT");
}
