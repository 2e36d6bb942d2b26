//! `docs/cli.md` is what the program says of itself: this test compares the two.
//! `UPDATE_DOCS=1` writes it anew.

use clap::CommandFactory;

use crate::commands::Cli;

fn page() -> String {
    let mut page = String::from(
        "# The commands of sm\n\nWritten from the program's own help; `UPDATE_DOCS=1 cargo test -p sm-cli docs` writes it anew.\n",
    );
    let mut cli = Cli::command().term_width(100);
    cli.build();
    section(&mut cli, "sm", &mut page);
    page
}

fn section(command: &mut clap::Command, path: &str, page: &mut String) {
    let help = command.render_long_help().to_string();
    let help: Vec<&str> = help.trim_end().lines().map(str::trim_end).collect();
    page.push_str(&format!(
        "\n## {path}\n\n```text\n{}\n```\n",
        help.join("\n")
    ));
    let names: Vec<String> = command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set())
        .map(|sub| sub.get_name().to_owned())
        .collect();
    for name in names {
        if let Some(sub) = command.find_subcommand_mut(&name) {
            let sub_path = format!("{path} {name}");
            section(sub, &sub_path, page);
        }
    }
}

#[test]
fn the_documented_commands_are_the_commands() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md");
    let page = page();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, &page).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(
        written == page,
        "docs/cli.md is not what `sm --help` says: run `UPDATE_DOCS=1 cargo test -p sm-cli docs`"
    );
}
