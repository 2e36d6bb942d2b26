//! The gate on whole documents: what is found, where, and what is left in peace.

use sm_core::template::handoff_template;
use sm_ledger::gate::{FileFact, GateFacts, Level, Report, TestFact, check};

const GOOD: &str = "\
# Handoff: invoices

## Goal and constraints
> Move the invoices to the new queue, without touching the old table.

## State of the work
- `src/queue/send.rs` was changed: retries with a limit.
- All tests pass (`cargo test -p queue`).

## Decisions and why
One queue for all tenants, as order matters only inside of one.

## Next actions
1. Write the migration in migrations/0042_invoices.sql.
2. Run `make check`.
";

fn plain(document: &str) -> Report {
    check(document, &GateFacts::default())
}

fn texts(report: &Report) -> Vec<String> {
    report
        .findings
        .iter()
        .map(|f| format!("{}: {f}", f.level))
        .collect()
}

#[test]
fn what_it_quotes_is_short_and_holds_no_secret() {
    let long = format!("src/{}.rs", "deep-".repeat(100));
    let key = "ghp_Zx81kQvT0aLmW93bNcYd7RfUe2HsJ4pGoi6X";
    let text = format!(
        "# Handoff\n## Objective\nCount.\n## State\nI changed {long} and src/{key}/a.rs.\n## Next\nGo on.\n"
    );
    let others = ["src/other.rs".to_owned()];
    let facts = GateFacts {
        file: &|_| FileFact::Missing,
        changed: Some(&others),
        ..GateFacts::default()
    };
    let report = check(&text, &facts);
    assert!(
        report.findings.iter().any(|f| f.what.contains("src/deep-")),
        "{report:?}"
    );
    for finding in &report.findings {
        assert!(finding.what.chars().count() <= 300, "{finding}");
        assert!(!finding.what.contains(key), "{finding}");
    }
}

#[test]
fn a_good_document_has_nothing_to_say_about_it() {
    let facts = GateFacts {
        file: &|path| {
            if path == "src/queue/send.rs" {
                FileFact::Known
            } else {
                FileFact::Missing
            }
        },
        changed: Some(&["/w/site/src/queue/send.rs".to_owned()]),
        tests: TestFact::Passed,
        pins: &[],
    };
    let report = check(GOOD, &facts);
    assert!(report.findings.is_empty(), "{:?}", texts(&report));
    assert_eq!(report.score, 100);
}

#[test]
fn what_a_successor_needs_may_be_said_in_many_ways() {
    for document in [
        "Goal: ship the invoices.\nDone: the queue.\nNext: the migration.\n",
        "# Übergabe\n## Ziel\nRechnungen umziehen\n## Stand\nWarteschlange fertig\n## Nächste Schritte\nMigration\n",
        "# Relais\n## Objectif\nfactures\n## Avancement\nfile terminée\n## Prochaines étapes\nmigration\n",
        "## Objetivo\nfacturas\n## Estado\ncola\n## Próximos pasos\nmigración\n",
        "## 目标\n迁移发票\n## 当前状态\n队列完成\n## 下一步\n写迁移\n",
        "## 目的\n請求書\n## 進捗\nキュー\n## 次のステップ\n移行\n",
        "## Цель\nсчета\n## Сделано\nочередь\n## Дальше\nмиграция\n",
        "The user asked for the invoices to move to the new queue. The queue is done. Next, write the migration.",
        "**Task:** invoices\n\n**Progress so far**\n- [x] queue\n- [ ] migration\n\n**Remaining work**\n- migration\n",
        "Objective\n=========\ninvoices\n\nState\n-----\nqueue done\n\nNext steps\n----------\nmigration\n",
        "# Context\nWe move invoices.\n## What was done\n### Queue\nwritten\n## TODO\n1. migration\n",
        // not understood, so not judged
        "## Tavoite\nlaskut\n## Tilanne\njono\n## Seuraavaksi\nsiirto\n",
    ] {
        let report = plain(document);
        assert!(
            report.findings.is_empty(),
            "{document}\n{:?}",
            texts(&report)
        );
    }
}

#[test]
fn what_is_missing_is_named_with_what_to_do() {
    for (document, expected) in [
        ("", vec!["the document is empty"]),
        (handoff_template(), vec!["still the template"]),
        (
            "## State\nthe queue\n",
            vec!["does not give an objective", "does not give a next action"],
        ),
        (
            "## Goal\ninvoices\n## Status\n\n## Next\nmigration\n",
            vec!["line 3: nothing stands under the heading for the state"],
        ),
        (
            "## Goal\ninvoices\n## State\nthe queue\n## Next\n- TBD\n",
            vec!["line 6: \"- TBD\" says nothing"],
        ),
        (
            "## Goal\ninvoices\n## State\ndone\n## Next actions\n<the next steps in order; the first so exact that it can be done at once>\n",
            vec!["line 6: the template's placeholder is still under \"Next actions\""],
        ),
    ] {
        let report = plain(document);
        let texts = texts(&report);
        assert_eq!(texts.len(), expected.len(), "{document}\n{texts:?}");
        for (text, expected) in texts.iter().zip(expected) {
            assert!(text.contains(expected), "{text}");
        }
        assert!(report.findings.iter().all(|f| !f.todo.is_empty()));
        assert!(report.score < 100);
    }
}

#[test]
fn files_have_to_be_there_or_known() {
    let missing = GateFacts {
        file: &|_| FileFact::Missing,
        ..GateFacts::default()
    };
    for (line, expected) in [
        (
            "See src/queue/send.rs:12 for the retry.",
            Some("src/queue/send.rs"),
        ),
        ("`./docs/plan.md` has the plan.", Some("./docs/plan.md")),
        ("Create migrations/0042.sql.", None),
        ("I deleted src/old.rs", None),
        ("https://example.com/a/b.html", None),
        ("example.com/a/b.html", None),
        ("send.rs has no folder", None),
        ("src/**/*.rs and src/{a,b}.rs", None),
        ("and/or, 1/2.5, v1.2/v1.3", None),
        ("main, develop or feature/new-queue", None),
    ] {
        let document = format!("Goal: x\nState: done\nNext: y\n{line}\n");
        let report = check(&document, &missing);
        match expected {
            Some(path) => {
                let texts = texts(&report);
                assert_eq!(texts.len(), 1, "{line}: {texts:?}");
                assert!(
                    texts[0].contains(&format!("line 4: there is no file {path}:")),
                    "{texts:?}"
                );
            }
            None => assert!(report.findings.is_empty(), "{line}: {:?}", texts(&report)),
        }
    }
    let many: String = (0..40).map(|n| format!("see src/f{n}.rs\n")).collect();
    let report = check(&format!("Goal: x\nState: done\nNext: y\n{many}"), &missing);
    assert_eq!(report.findings.len(), 5);
    assert_eq!(report.score, 80);
}

#[test]
fn claims_are_held_against_what_is_known() {
    let frame = |line: &str| format!("Goal: x\nNext: y\n\n## State\n{line}\n");
    let failed = TestFact::Failed {
        command: "cargo test -p queue",
    };
    for (line, tests, expected) in [
        (
            "All tests pass.",
            failed,
            Some((
                Level::Error,
                "line 5: it says that tests pass, but the last run failed: cargo test -p queue",
            )),
        ),
        ("All tests pass.", TestFact::Passed, None),
        ("All tests pass.", TestFact::Unknown, None),
        (
            "All tests pass.",
            TestFact::NotRun,
            Some((Level::Warning, "no test run is known")),
        ),
        ("Tests fail in queue::retry.", failed, None),
        (
            "Make sure the tests pass.",
            failed,
            Some((Level::Warning, "does not say so")),
        ),
        ("Tests do not pass yet, retry is broken.", failed, None),
        (
            "Nothing is said of them.",
            failed,
            Some((Level::Warning, "the last test run failed")),
        ),
        ("The tests now pass except one that fails.", failed, None),
    ] {
        let facts = GateFacts {
            tests,
            ..GateFacts::default()
        };
        let report = check(&frame(line), &facts);
        match expected {
            Some((level, text)) => {
                let texts = texts(&report);
                assert_eq!(texts.len(), 1, "{line}: {texts:?}");
                assert_eq!(report.level(), Some(level));
                assert!(texts[0].contains(text), "{texts:?}");
            }
            None => assert!(report.findings.is_empty(), "{line}: {:?}", texts(&report)),
        }
    }
    let changed = ["/w/src/queue/send.rs".to_owned()];
    for (line, expected) in [
        ("Changed src/queue/send.rs.", false),
        ("Changed queue/send.rs and src/queue/take.rs.", true),
        ("src/queue/take.rs should be changed.", false),
        ("- [ ] src/queue/take.rs updated", false),
        ("src/queue/take.rs is where it is read.", false),
    ] {
        let facts = GateFacts {
            changed: Some(&changed),
            ..GateFacts::default()
        };
        let report = check(&frame(line), &facts);
        assert_eq!(
            !report.findings.is_empty(),
            expected,
            "{line}: {:?}",
            texts(&report)
        );
        let unknown = check(&frame(line), &GateFacts::default());
        assert!(unknown.findings.is_empty());
    }
}

#[test]
fn secrets_size_and_pins() {
    let password = format!("{GOOD}\nDB_PASSWORD={}\n", "Tr0ub4dor&3");
    let report = plain(&password);
    assert_eq!(
        texts(&report),
        [
            "error: line 17: this looks like a secret (password): take it out and say where it is kept instead"
        ]
    );
    assert!(!texts(&report)[0].contains("Tr0ub4dor"));
    let report = plain(&format!("{GOOD}{}", "long lines\n".repeat(6000)));
    assert_eq!(report.level(), Some(Level::Warning));
    let pins = ["never touch prod".to_owned()];
    let report = check(
        GOOD,
        &GateFacts {
            pins: &pins,
            ..GateFacts::default()
        },
    );
    assert_eq!((report.score, report.level()), (100, Some(Level::Note)));
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_gets_a_score(text in "(\\PC|\n|# |```|- \\[ \\] |a/b.rs ){0,120}") {
            let report = check(&text, &GateFacts { file: &|_| FileFact::Missing, changed: Some(&[]), tests: TestFact::NotRun, pins: &[] });
            prop_assert!(report.score <= 100);
            let lines = text.lines().count().max(1);
            prop_assert!(report.findings.iter().all(|f| f.line.is_none_or(|line| line >= 1 && line <= lines)));
        }
    }
}
