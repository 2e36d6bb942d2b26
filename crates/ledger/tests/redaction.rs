//! Secrets go, everything else stays; each rule by its own samples.

use sm_ledger::redact::{find, redact, rule_names, samples};

const SEEDS: u64 = 24;

#[test]
fn every_rule_has_a_secret_and_a_lookalike() {
    for rule in rule_names() {
        let has = |list: &[samples::Sample]| list.iter().any(|sample| sample.rule == rule);
        assert!(has(&samples::secrets(1)), "{rule}: no secret in the list");
        assert!(
            has(&samples::lookalikes(1)),
            "{rule}: no look-alike in the list"
        );
    }
}

#[test]
fn secrets_go_under_the_name_of_their_rule() {
    let mut missed = Vec::new();
    for seed in 0..SEEDS {
        for sample in samples::secrets(seed) {
            let redacted = redact(&sample.text);
            let left = sample
                .secret
                .iter()
                .any(|secret| redacted.text.contains(secret.as_str()));
            let named = redacted.found.iter().any(|(rule, _)| *rule == sample.rule);
            if left || !named {
                missed.push(format!(
                    "{}: {:?} -> {:?}",
                    sample.rule, sample.text, redacted.text
                ));
            }
        }
    }
    let all = samples::secrets(0).len() * SEEDS as usize;
    // a random value can look like a word: one in two hundred is allowed to
    assert!(
        missed.len() * 200 <= all,
        "{} of {all}:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

/// What has nothing rolled in it is found every time or never.
#[test]
fn secrets_that_are_made_of_words_go_every_time() {
    let other = samples::secrets(1);
    let fixed = samples::secrets(0).into_iter().zip(other);
    let missed: Vec<String> = fixed
        .filter(|(sample, other)| sample.text == other.text)
        .map(|(sample, _)| sample.text)
        .filter(|text| redact(text).found.is_empty())
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}

#[test]
fn lookalikes_stay() {
    let mut touched = Vec::new();
    for seed in 0..SEEDS {
        for sample in samples::lookalikes(seed) {
            let redacted = redact(&sample.text);
            if redacted.text != sample.text || !redacted.found.is_empty() {
                touched.push(format!(
                    "{}: {:?} -> {:?}",
                    sample.rule, sample.text, redacted.text
                ));
            }
        }
    }
    assert!(
        touched.is_empty(),
        "{}:\n{}",
        touched.len(),
        touched.join("\n")
    );
}

#[test]
fn what_is_around_a_secret_stays_readable() {
    for sample in samples::secrets(3) {
        for secret in find(&sample.text) {
            assert!(secret.end - secret.start <= sample.text.len());
        }
        let redacted = redact(&sample.text);
        let marks = redacted.text.matches("[redacted: ").count();
        assert_eq!(marks, redacted.count(), "{:?}", redacted.text);
    }
    for (text, expected) in [
        (
            "postgres://app:Tr0ub4dor@db.acme.dev/app",
            "postgres://app:[redacted: password in address]@db.acme.dev/app",
        ),
        (
            "{\"password\": \"c0rrect!horse\", \"user\": \"ops\"}",
            "{\"password\": \"[redacted: password]\", \"user\": \"ops\"}",
        ),
        (
            "mysql -u root -pTr0ub4dor shop",
            "mysql -u root -p[redacted: password on a command line] shop",
        ),
        (
            "DB_PASSWORD=p;a&ss,w0rd!\nNEXT=1",
            "DB_PASSWORD=[redacted: password]\nNEXT=1",
        ),
    ] {
        assert_eq!(redact(text).text, expected);
    }
}

#[test]
fn what_stands_for_a_secret_is_the_name_of_none() {
    // a chain of values: each would have become the name of the next
    let text = format!("password: {}", "stri1e9991e9991e9991e9991d: ".repeat(12));
    let once = redact(&text).text.into_owned();
    assert!(
        once.starts_with("password: [redacted: password]: stri1e999"),
        "{once}"
    );
    assert_eq!(redact(&once).text, once);
}

#[test]
fn a_chain_without_end_has_one() {
    // what goes makes a secret of what stands before it
    let link = "OOK_SECRET=whsec_bfo8pnvXIF7mX18G5iCdM1Lp";
    for text in [
        format!("before\nSTRIPE_WEBH{}\nafter", link.repeat(300)),
        format!(
            "before\nSTRIPE_WEBH{}\nafter",
            format!("{link}\n").repeat(300)
        ),
    ] {
        let once = redact(&text).text.into_owned();
        assert!(!once.contains("whsec_bfo8"), "{once}");
        let again = redact(&once);
        assert_eq!((again.text.as_ref(), again.count()), (once.as_str(), 0));
    }
}

mod properties {
    use super::*;
    use proptest::prelude::*;

    /// Pieces of lists, of code and of nothing, in any order.
    fn texts() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => (0_u64..1000, 0_usize..200).prop_map(|(seed, n)| {
                let list = samples::secrets(seed);
                list[n % list.len()].text.clone()
            }),
            2 => (0_u64..1000, 0_usize..200).prop_map(|(seed, n)| {
                let list = samples::lookalikes(seed);
                list[n % list.len()].text.clone()
            }),
            2 => "[a-zA-Z0-9_=:\"'/@. \\-\n]{0,24}",
            1 => "\\PC{0,12}",
            1 => prop::sample::select(vec!["password=", "://", "sk-", "ghp_", "-----BEGIN ", "Bearer ", "eyJ", "…", "\\n", "--token ", "]", "[redacted: password]"]).prop_map(str::to_owned),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn doing_it_again_changes_nothing(text in texts()) {
            let once = redact(&text).text.into_owned();
            let twice = redact(&once);
            prop_assert_eq!(twice.text.as_ref(), once.as_str());
            prop_assert!(twice.found.is_empty());
        }

        #[test]
        fn findings_are_in_order_and_whole(text in "\\PC{0,200}") {
            let mut end = 0;
            for secret in find(&text) {
                prop_assert!(secret.start >= end && secret.end > secret.start);
                prop_assert!(text.get(secret.start..secret.end).is_some());
                end = secret.end;
            }
        }
    }
}
