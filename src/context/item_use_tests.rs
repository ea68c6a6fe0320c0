//! Evidence that an answer used an item, and its laws.
//! Not for: the texts of real calls (`tests/it/engine/item_use.rs`).

use super::*;
use crate::domain::base::hash::Hash as Key;
use proptest::prelude::*;

fn note(text: &str) -> SentItem<'_> {
    SentItem { text, ..SentItem::default() }
}

fn symbol(qualified: &str, path: &str, lines: (u32, u32)) -> CodeRef {
    let (path, qualified) = (path.to_owned(), qualified.to_owned());
    CodeRef { path, qualified, kind: Kind::Function, lines, nth: 0, file: Key::of(b"file") }
}

fn of(item: SentItem<'_>, known: &str, answer: &str) -> Vec<UseKind> {
    find_uses(&[item], known, answer, &[]).remove(0)
}

fn call(args: &str, changed: &[(&str, Option<(u32, u32)>)]) -> ToolUse {
    let changed = changed.iter().map(|(path, lines)| ChangedFile { path: (*path).to_owned(), lines: *lines });
    ToolUse { args: args.to_owned(), done: true, changed: changed.collect() }
}

const LEASE: &str = "We agreed that the lease of the lock lasts 1,500 ms, see src/lock/lease.rs and renew_lease.";

#[test]
fn consecutive_words_are_a_quotation() {
    let cases = [
        ("Well, we agreed that the lease of the lock lasts a while.", "", vec![UseKind::Quoted]),
        ("The LEASE of a lock, lasts; agreed?", "", vec![]),
        ("Agreed: lease, lock, lasts as before.", "", vec![UseKind::Quoted]),
        ("A lock has a lease which lasts.", "", vec![]),
        ("the lease of the lock lasts: agreed lease lock lasts", "We agreed the lease of the lock lasts?", vec![]),
        ("", "", vec![]),
    ];
    for (answer, known, wanted) in cases {
        assert_eq!(of(note(LEASE), known, answer), wanted, "{answer}");
    }
    let chat = "Let me know if you have any other questions about it.";
    assert_eq!(of(note(chat), "", chat), [], "stop words count for nothing");
}

#[test]
fn rare_names_not_in_the_question_count() {
    for answer in ["Look at renew_lease.", "It is 1500 ms.", "Open lease.rs:12.", "In `src/lock/lease.rs`, line 3."] {
        assert_eq!(of(note(LEASE), "", answer), [UseKind::Named], "{answer}");
        assert_eq!(of(note(LEASE), answer, answer), [], "{answer}");
    }
    assert_eq!(of(note(LEASE), "What of src/lock/lease.rs?", "Open lease.rs."), [], "the question has its path");
    let items = [note("retry_at is 5"), note("retry_at was 4"), note("retry_at, MAX_WAIT")];
    let used = find_uses(&items, "", "Set retry_at and MAX_WAIT.", &[]);
    assert_eq!(used, [vec![], vec![], vec![UseKind::Named]], "what three items have names none of them");
    let turn = SentItem { turn: Some(7), ..note("Tea.") };
    assert_eq!(of(turn, "", "As you said in turn 7."), [UseKind::Named]);
    assert_eq!((of(turn, "And turn 7?", "As in turn 7."), of(turn, "", "As in turn 8.")), (vec![], vec![]));
}

#[test]
fn numbers_need_digits_or_a_unit() {
    let all = |text: &str| numbers(text).collect::<Vec<_>>();
    let text =
        "1. In 2 of 12 cases, 37 % of 1,500 ms; port 8443, v1.82.0, 2026-03-14, a100, 100 and 5000, 30s, 12abc, µ 5 µs";
    assert_eq!(all(text), ["37%", "1500ms", "8443", "2026-03-14", "30s", "5µs"]);
    assert!(UNITS.is_sorted() && COMMON.is_sorted());
}

#[test]
fn a_symbol_is_distinguished_from_a_word() {
    let rotate = symbol("auth::Session::rotate", "src/auth.rs", (10, 20));
    let item = SentItem { code: Some(&rotate), ..note("pub fn rotate(&self) {}") };
    for answer in ["Call `rotate` first.", "Then rotate(pool) runs.", "Session::rotate is slow.", "a Session.rotate"] {
        assert_eq!(of(item, "", answer), [UseKind::Symbol], "{answer}");
    }
    for answer in ["Please rotate it.", "rotated(x)", "do_rotate(x)", "`rotates`", "rotate, then stop"] {
        assert_eq!(of(item, "", answer), [], "{answer}");
    }
    let new = symbol("Session::new", "src/auth.rs", (1, 4));
    let item = SentItem { code: Some(&new), ..note("pub fn new() -> Self {}") };
    assert_eq!((of(item, "", "Use `new()`."), of(item, "", "Use Session::new().")), (vec![], vec![UseKind::Symbol]));
}

#[test]
fn tools_edit_lines_and_show_more() {
    let rotate = symbol("Session::rotate", "src/auth.rs", (10, 20));
    let items =
        [SentItem { code: Some(&rotate), ..note("fn x() {}") }, SentItem { path: Some("NOTES.md"), ..note("y") }];
    let by = |call: ToolUse| find_uses(&items, "", "", &[call]);
    let cases = [
        (call("{}", &[("src/auth.rs", Some((18, 30)))]), vec![UseKind::Edited], vec![]),
        (call("{}", &[("src/auth.rs", Some((21, 30)))]), vec![], vec![]),
        (
            call("{}", &[("src/auth.rs", None), ("NOTES.md", Some((1, 1)))]),
            vec![UseKind::Edited],
            vec![UseKind::Edited],
        ),
        (call(r#"{"path": "./src/auth.rs"}"#, &[]), vec![UseKind::Expanded], vec![]),
        (call(r#"{"path": "src/auth.rs", "start_line": 30, "lines": 5}"#, &[]), vec![], vec![]),
        (call(r#"{"path": "NOTES.md", "start_line": 3}"#, &[]), vec![], vec![UseKind::Expanded]),
        (call(r#"{"symbol": "rotate"}"#, &[]), vec![UseKind::Expanded], vec![]),
        (call(r#"{"symbol": "Session::rotate", "path": "src/disk.rs"}"#, &[]), vec![UseKind::Symbol], vec![]),
        (call(r#"{"symbol": "tate"}"#, &[]), vec![], vec![]),
        (ToolUse { done: false, ..call(r#"{"path": "NOTES.md"}"#, &[]) }, vec![], vec![]),
    ];
    for (made, code, file) in cases {
        assert_eq!(by(made.clone()), [code, file], "{made:?}");
    }
    let quoted = call(r#"{"edits": [{"old": "lease of the lock\nlasts agreed"}]}"#, &[]);
    let text = "The lease of the lock lasts. Agreed.";
    assert_eq!(
        find_uses(&[note(text)], "", "", &[quoted]),
        [[UseKind::Quoted]],
        "arguments are read, whatever their form"
    );
}

#[test]
fn changed_lines_lie_between_what_both_texts_share() {
    let lines = |before: &str, after: &str| ChangedFile::lines(before, after);
    assert_eq!(lines("a\nb\nc\nd", "a\nX\nY\nd"), Some((2, 3)));
    assert_eq!(lines("a\nb\nc", "a\nb\nX\nc"), Some((2, 3)), "put in between");
    assert_eq!(lines("a\na\na", "a\na"), Some((3, 3)));
    assert_eq!((lines("a\nb", "a\nb"), lines("", "x"), lines("x", "")), (None, Some((1, 1)), Some((1, 1))));
}

const STOPS: &[&str] = &["the", "of", "and", "is", "it", "that", "to", "in", "we", "this", "have", "with"];

/// Makes choices from the digits of one number. Generating words this way is much cheaper than a strategy for each
/// letter.
struct Choices(u64);

impl Choices {
    fn below(&mut self, count: usize) -> usize {
        let count = count as u64;
        let choice = self.0 % count;
        self.0 /= count;
        usize::try_from(choice).unwrap()
    }

    fn letters(&mut self, of: &[u8], count: usize) -> String {
        (0..count).map(|_| char::from(of[self.below(of.len())])).collect()
    }

    /// Returns a pronounceable word, an identifier, a path, a number, or a stop word.
    fn word(&mut self) -> String {
        const ALL: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
        const CONSONANTS: &[u8] = b"bcdfghjklmnpqrstvwxyz";
        match self.below(14) {
            0..=5 => {
                let length = 2 + self.below(3);
                let start = self.letters(CONSONANTS, 2);
                format!("{start}{}{}", self.letters(b"aeiou", 1), self.letters(CONSONANTS, length))
            }
            6 | 7 => {
                let lengths = (3 + self.below(3), 3 + self.below(3));
                format!("{}_{}", self.letters(ALL, lengths.0), self.letters(ALL, lengths.1))
            }
            8 => {
                let length = 3 + self.below(4);
                format!("src/{}.rs", self.letters(ALL, length))
            }
            9 => (1_000 + self.below(9_000)).to_string(),
            _ => STOPS[self.below(STOPS.len())].to_owned(),
        }
    }
}

fn word() -> impl Strategy<Value = String> {
    any::<u64>().prop_map(|number| Choices(number).word())
}

fn texts(most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(word(), 0..most)
}

fn has_content(word: &str) -> bool {
    !STOPS.contains(&word)
}

proptest! {
    #[test]
    fn without_a_common_word_nothing_is_used(
        items in proptest::collection::vec(texts(40), 1..6), known in texts(20), answer in texts(60)
    ) {
        let answer: Vec<String> = answer.into_iter()
            .filter(|word| !has_content(word) || !items.iter().flatten().any(|own| own.contains(word) || word.contains(own)))
            .collect();
        let texts: Vec<String> = items.iter().map(|words| words.join(" ")).collect();
        let items: Vec<SentItem<'_>> = texts.iter().map(|text| note(text)).collect();
        let used = find_uses(&items, &known.join(" "), &answer.join(" "), &[]);
        prop_assert!(used.iter().all(Vec::is_empty), "{:?} by {:?}", texts, answer);
    }

    #[test]
    fn eight_quoted_words_are_always_found(
        others in proptest::collection::vec(texts(40), 0..6), own in proptest::collection::vec(word(), 8..60),
        from in any::<proptest::sample::Index>(), around in (texts(20), texts(20)), copies in 1_usize..5,
    ) {
        let from = from.index(own.len() - 7);
        let quote = &own[from..from + 8];
        let content = quote.iter().filter(|word| has_content(word)).count();
        let answer = [around.0.join(" "), quote.join(" "), around.1.join(" ")].join(". ");
        let mut texts = vec![own.join(" "); copies];
        texts.extend(others.iter().map(|words| words.join(" ")));
        let items: Vec<SentItem<'_>> = texts.iter().map(|text| note(text)).collect();
        let used = find_uses(&items, "", &answer, &[]);
        if content == 8 {
            prop_assert!(used[..copies].iter().all(|by| by.contains(&UseKind::Quoted)), "{answer}");
        }
        let alone = find_uses(&items[..1], "", &answer, &[]);
        prop_assert!(content < QUOTE_WORDS || alone[0].contains(&UseKind::Quoted), "{answer}");
    }

    #[test]
    fn names_in_the_question_do_not_count(own in texts(40), known in texts(10), answer in texts(60)) {
        let (text, answer) = (own.join(" "), answer.join(" "));
        let before = of(note(&text), &known.join(" "), &answer);
        let asked = format!("{} {text}", known.join(" "));
        let after = of(note(&text), &asked, &answer);
        prop_assert!(!after.contains(&UseKind::Named) && !after.contains(&UseKind::Quoted), "{after:?} {before:?}");
        let less = of(note(&text), "", &answer);
        prop_assert!(before.iter().all(|kind| less.contains(kind)), "more that is known never brings evidence");
    }

    #[test]
    fn stop_words_never_count(
        own in proptest::collection::vec(proptest::sample::select(STOPS), 0..60),
        answer in proptest::collection::vec(proptest::sample::select(STOPS), 0..60)
    ) {
        prop_assert_eq!(of(note(&own.join(" ")), "", &answer.join(" ")), []);
        let both = own.join(" ");
        prop_assert_eq!(of(note(&both), "", &both), []);
    }

    #[test]
    fn any_texts_are_read(item in "\\PC{0,200}", known in "\\PC{0,80}", answer in "\\PC{0,200}", args in "\\PC{0,40}") {
        let code = symbol(&item, &known, (1, 2));
        let items = [note(&item), SentItem { code: Some(&code), path: Some(&known), ..note(&answer) }];
        let used = find_uses(&items, &known, &answer, &[call(&args, &[(&known, None)])]);
        prop_assert_eq!(used.len(), 2);
        prop_assert!(used.iter().all(|by| by.is_sorted()));
    }
}
