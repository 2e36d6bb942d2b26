//! `sm gc`.

use clap::Args;

use crate::client::{Daemon, GcView};
use crate::error::Result;
use crate::print::Printer;
use crate::text::{Cell, Look, bytes, count, one_line, table};

/// Shows which logs are older than their retention; removes them with `--yes`.
#[derive(Debug, Args)]
pub struct Gc {
    /// Remove what is shown.
    #[arg(long, short)]
    yes: bool,
    /// As JSON: `{items: [{session, path, bytes, reason}], bytes}`.
    #[arg(long)]
    json: bool,
}

impl Gc {
    pub fn run(self, out: &mut Printer) -> Result<()> {
        let found = Daemon::open()?.gc(!self.yes)?;
        if self.json {
            return out.json(&found.json);
        }
        let text = render(&out.look, &found.value, self.yes);
        out.text(&text)
    }
}

fn render(look: &Look, found: &GcView, done: bool) -> String {
    if found.items.is_empty() {
        return "nothing is older than its retention\n".to_owned();
    }
    let rows: Vec<Vec<Cell>> = found
        .items
        .iter()
        .map(|item| {
            vec![
                Cell::new(one_line(&item.session)),
                Cell::new(bytes(item.bytes)),
                Cell::new(one_line(&item.reason)),
                Cell::new(look.path(&item.path)),
            ]
        })
        .collect();
    let mut text = table(look, &["SESSION", "SIZE", "WHY", "PATH"], &rows);
    let total = format!(
        "{}, {}",
        count(found.items.len(), "item"),
        bytes(found.bytes)
    );
    text.push_str(&if done {
        format!("removed: {total}\n")
    } else {
        format!("would be removed: {total}. Do it: sm gc --yes\n")
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::GcItem;
    use crate::text::tests::look;

    #[test]
    fn shown_before_it_is_done() {
        let found = GcView {
            items: vec![GcItem {
                session: "api".into(),
                path: "/home/ann/.local/share/sm/sessions/1a2b3c4d".into(),
                bytes: 3 << 20,
                reason: "exited 40 d ago".into(),
            }],
            bytes: 3 << 20,
        };
        insta::assert_snapshot!(render(&look(), &found, false), @r"
        SESSION  SIZE     WHY              PATH
        api      3.0 MiB  exited 40 d ago  ~/.local/share/sm/sessions/1a2b3c4d
        would be removed: 1 item, 3.0 MiB. Do it: sm gc --yes
        ");
        let none = GcView {
            items: vec![],
            bytes: 0,
        };
        insta::assert_snapshot!(render(&look(), &none, true), @"nothing is older than its retention");
    }
}
