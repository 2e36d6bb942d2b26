use super::*;
use crate::dialect::{Dialect, Reader};

/// An invented session with three compactions, a side chain, reminders, commands and broken lines.
const SESSION: &str = include_str!("../../tests/fixtures/invented.jsonl");

fn figures(figure: Figure) -> [String; 3] {
    [figure.mean, figure.low, figure.high].map(|number| format!("{number:.3}"))
}

fn no_document(_: &Boundary, _: Arm, _: usize) -> Option<String> {
    None
}

fn scored(transcript: &Transcript) -> Report {
    let mut evaluation = Evaluation::new(vec![1500, 300]);
    evaluation.add(transcript, &Places::Compactions, &mut no_document);
    evaluation.report()
}

#[test]
fn the_figures_of_the_reference_scorer() {
    let report = scored(&Transcript::claude(SESSION.as_bytes()));
    assert_eq!((report.sessions, report.boundaries), (1, 3));
    let expected = [
        (
            Arm::NativeSummary,
            None,
            ["0.067", "0.000", "0.111"],
            ["0.064", "0.000", "0.105"],
            ["0.111", "0.000", "0.333"],
            397.0,
            423,
        ),
        (
            Arm::TranscriptTail,
            Some(300),
            ["0.146", "0.056", "0.200"],
            ["0.159", "0.053", "0.250"],
            ["0.000"; 3],
            300.0,
            300,
        ),
        (
            Arm::TranscriptTail,
            Some(1500),
            ["0.463", "0.400", "0.545"],
            ["0.475", "0.421", "0.565"],
            ["0.111", "0.000", "0.333"],
            1500.0,
            1500,
        ),
        (
            Arm::RandomAtoms,
            Some(300),
            ["0.201", "0.182", "0.222"],
            ["0.208", "0.174", "0.263"],
            ["0.000"; 3],
            300.0,
            300,
        ),
        (
            Arm::RandomAtoms,
            Some(1500),
            ["0.792", "0.667", "0.909"],
            ["0.803", "0.684", "0.913"],
            ["0.000"; 3],
            1500.0,
            1500,
        ),
        (
            Arm::RankedAtoms,
            Some(300),
            ["0.220", "0.167", "0.267"],
            ["0.208", "0.158", "0.250"],
            ["0.000"; 3],
            300.0,
            300,
        ),
        (
            Arm::RankedAtoms,
            Some(1500),
            ["0.850", "0.773", "1.000"],
            ["0.840", "0.737", "1.000"],
            ["0.000"; 3],
            1500.0,
            1500,
        ),
    ];
    assert_eq!(report.rows.len(), expected.len());
    for (row, (arm, budget, nar, lar, dir, median, max)) in report.rows.iter().zip(expected) {
        let what = format!("{} {budget:?}", arm.name());
        assert_eq!((row.arm, row.budget), (arm, budget));
        assert_eq!(figures(row.figures.nar), nar, "NAR of {what}");
        assert_eq!(figures(row.figures.lar), lar, "LAR of {what}");
        assert_eq!(
            row.figures.dir.map(figures),
            Some(dir.map(String::from)),
            "DIR of {what}"
        );
        assert_eq!(
            (row.figures.size_median, row.figures.size_max),
            (median, max),
            "{what}"
        );
    }
}

#[test]
fn through_the_records_of_a_dialect_the_questions_are_nearly_the_same() {
    let mut builder = Builder::default();
    let mut reader = Reader::new(Dialect::Claude);
    reader.feed(SESSION.as_bytes(), &mut |at, record| {
        builder.add(at, &record)
    });
    let (records, reference) = (builder.finish(), Transcript::claude(SESSION.as_bytes()));
    let (ours, theirs) = (
        records.boundaries(&Places::Compactions),
        reference.boundaries(&Places::Compactions),
    );
    assert_eq!(ours.len(), 3);
    for (ours, theirs) in ours.iter().zip(&theirs) {
        assert_eq!(ours.line, theirs.line);
        assert_eq!(ours.summary(&records), theirs.summary(&reference));
        let ours = Question::new(&records, ours).unwrap();
        let theirs = Question::new(&reference, theirs).unwrap();
        assert_eq!(ours.directives, theirs.directives);
        assert_eq!((ours.read, ours.reread), (theirs.read, theirs.reread));
        // a reminder of the program is no text of the record
        let others = ours.later.symmetric_difference(&theirs.later).count();
        assert!(others <= 1, "{others}");
    }
}

#[test]
fn a_document_that_holds_everything_scores_one() {
    let transcript = Transcript::claude(SESSION.as_bytes());
    let mut evaluation = Evaluation::new(vec![1]);
    let mut asked = Vec::new();
    evaluation.add(
        &transcript,
        &Places::Compactions,
        &mut |boundary, arm, budget| {
            asked.push((arm, budget, boundary.line));
            let old = &transcript.entries[boundary.low..boundary.end];
            let all = old
                .iter()
                .flat_map(|entry| [&entry.text, &entry.calls, &entry.results]);
            (arm == Arm::Ledger).then(|| all.cloned().collect::<Vec<_>>().join("\n"))
        },
    );
    let row = evaluation
        .report()
        .rows
        .into_iter()
        .find(|row| row.arm == Arm::Ledger);
    let row = row.unwrap();
    assert_eq!(row.budget, Some(1));
    for figure in [row.figures.nar, row.figures.lar, row.figures.dir.unwrap()] {
        assert_eq!(
            figure,
            Figure {
                mean: 1.0,
                low: 1.0,
                high: 1.0
            }
        );
    }
    // the line before the summary, not that of the note that comes with it
    let lines: Vec<&str> = SESSION.lines().collect();
    let ledger: Vec<u64> = (asked.iter())
        .filter(|(arm, budget, _)| (*arm, *budget) == (Arm::Ledger, 1))
        .map(|(.., line)| *line)
        .collect();
    assert_eq!(ledger.len(), 3);
    for line in ledger {
        assert!(lines[line as usize].contains("compact_boundary"), "{line}");
    }
}

/// An entry each: a prompt, or what the agent said.
fn lines(texts: &[(&str, &str)]) -> Transcript {
    let line = |(kind, text): &(&str, &str)| {
        serde_json::json!({"type": kind, "message": {"content": text}}).to_string()
    };
    let all: Vec<String> = texts.iter().map(line).collect();
    Transcript::claude(all.join("\n").as_bytes())
}

#[test]
fn cuts_are_shares_of_each_context() {
    let all = lines(&[("user", "hello there")].repeat(100));
    let cuts = all.boundaries(&Places::Cuts(vec![0.5, 0.8, 0.1, 0.95]));
    let at: Vec<_> = cuts
        .iter()
        .map(|cut| (cut.low, cut.end, cut.begin, cut.high, cut.line))
        .collect();
    // at 0.1 too little is before, at 0.95 too little after
    assert_eq!(at, [(0, 50, 50, 100, 50), (0, 80, 80, 100, 80)]);
    assert!(cuts.iter().all(|cut| cut.summary(&all).is_none()));
    assert!(all.boundaries(&Places::Compactions).is_empty());
    assert!(
        Transcript::default()
            .boundaries(&Places::Cuts(vec![0.5]))
            .is_empty()
    );
}

#[test]
fn a_handoff_is_where_the_next_transcript_begins() {
    let line =
        |text: &str| serde_json::json!({"type": "user", "message": {"content": text}}).to_string();
    let one = vec![line("hello there"); 40].join("\n");
    let mut builder = Builder::default();
    builder.claude(one.as_bytes());
    for _ in 0..2 {
        builder.next_part();
        builder.claude(one.as_bytes());
    }
    let all = builder.finish();
    let handoffs = all.boundaries(&Places::Handoffs);
    let at: Vec<_> = (handoffs.iter())
        .map(|end| (end.low, end.end, end.begin, end.high, end.part, end.line))
        .collect();
    assert_eq!(at, [(0, 40, 40, 80, 0, 40), (40, 80, 80, 120, 1, 40)]);
    assert!(handoffs.iter().all(|end| end.summary(&all).is_none()));
    assert!(all.boundaries(&Places::Compactions).is_empty());
}

#[test]
fn needed_is_what_was_used_before_it_was_shown() {
    let mut texts = vec![("assistant", "first_name second_name third_name fourth_name")];
    texts.extend([("user", "go on")].repeat(20));
    texts.extend([
        ("assistant", "use first_name and second_name and other_name"),
        ("user", "there is third_name"),
        ("assistant", "so third_name, and fourth_name"),
    ]);
    texts.extend([("user", "good")].repeat(20));
    let all = lines(&texts);
    let cut = all.boundaries(&Places::Cuts(vec![21.0 / 44.0]))[0];
    let question = Question::new(&all, &cut).unwrap();
    assert_eq!(
        Vec::from_iter(question.needed.clone()),
        ["first_name", "fourth_name", "second_name"]
    );
    assert_eq!(question.later.len(), 4);
    let score = question.score("first_name  third_name\ngo\t on");
    assert_eq!((score.lar, score.dir, score.size), (0.5, Some(1.0), 29));
    assert!((score.nar - 1.0 / 3.0).abs() < 1e-9);
    assert_eq!(question.score("").nar, 0.0);
}

#[test]
fn what_a_person_asks_for() {
    let long = "é".repeat(500);
    let kept = "é".repeat(400);
    for (line, expected) in [
        (r#"{"content":"do it"}"#.to_owned(), Some("do it")),
        (r#"{"content":"  do\u001f it\u001f "}"#.to_owned(), Some("do\u{1f} it")),
        (r#"{"content":"<system-reminder>a\nb</system-reminder> do <system-reminder>c"}"#.to_owned(), Some("do <system-reminder>c")),
        (r#"{"content":"<command-name>/cost</command-name>"}"#.to_owned(), None),
        (r#"{"content":"[Request interrupted by user]"}"#.to_owned(), None),
        (r#"{"content":[{"type":"text","text":"do it"},{"type":"image"},{"type":"text","text":"now"}]}"#.to_owned(), Some("do it\nnow")),
        (r#"{"content":[{"type":"text","text":"do it"},{"type":"tool_result","content":"x"}]}"#.to_owned(), None),
        (r#"{"content":[{"type":"text","text":"do it"},{"type":"tool_result","content":[]}]}"#.to_owned(), Some("do it")),
        (r#"{"content":7}"#.to_owned(), None),
        (
            r#"{"content":"half \ud83d, \udc00 and \ud83e\udd80; \\ud83d"}"#.to_owned(),
            Some("half \u{fffd}, \u{fffd} and \u{1f980}; \\ud83d"),
        ),
        (format!(r#"{{"content":"{long}"}}"#), Some(&*kept)),
    ] {
        for (more, ours) in [("", true), (r#","isMeta":true"#, false), (r#","isCompactSummary":true"#, false), (r#","isMeta":null"#, true)] {
            let text = format!(r#"{{"type":"user","message":{line}{more}}}"#);
            let got = Transcript::claude(text.as_bytes());
            assert_eq!(got.entries.len(), 1, "{text}");
            assert_eq!(got.entries[0].directive.as_deref(), expected.filter(|_| ours), "{text}");
        }
    }
}

#[test]
fn files_that_had_to_be_read_again() {
    let read = |file: &str| {
        serde_json::json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "name": "Read", "input": {"file_path": file, "limit": 3}}]}})
        .to_string()
    };
    let mut all: Vec<String> = (0..30)
        .map(|n| read(&format!("/src/part_{}_of.rs", n % 6)))
        .collect();
    all.extend((0..30).map(|n| read(&format!("/src/part_{}_of.rs", 3 + n % 6))));
    let all = Transcript::claude(all.join("\n").as_bytes());
    let cut = all.boundaries(&Places::Cuts(vec![0.5]))[0];
    let question = Question::new(&all, &cut).unwrap();
    assert_eq!((question.read, question.reread), (6, 3));
}

proptest::proptest! {
    #[test]
    fn any_line_is_read_or_left_out(text in r#"(\{"type":"user","message":\{"content":")?(\\\\?(ud8|ud|u|n|"|é|.)){0,12}("\}\})?"#) {
        let all = Transcript::claude(text.as_bytes());
        proptest::prop_assert!(all.entries.len() <= 1 + text.matches('\n').count());
    }
}

#[test]
fn any_bytes_are_a_transcript() {
    for bytes in [
        &b""[..],
        b"\n\n",
        b"\xff\xfe{",
        b"[1]\n7\n\"x\"\n{\"type\":\"user\"}",
        b"{\"type\":\"user\",\"message\":[]}",
    ] {
        let all = Transcript::claude(bytes);
        assert!(all.entries.len() <= 1);
        assert!(all.boundaries(&Places::Compactions).is_empty());
    }
}
