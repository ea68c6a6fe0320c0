//! Tests of names, focus, the gate, and lines that are already in the request, on a small workspace.

use super::find::cards::{Limits, SentLines, compose, fill};
use super::find::choose::{focused, mentioned, scope};
use super::find::gate::skip_reason;
use super::find::rank::{Hit, prefer_other_files, rank};
use super::find::{names, query};
use super::index::build::{Folders, Round, renew};
use super::index::records::Index;
use super::parse::walk::{Bounds, holds_code};
use super::parse::words::Analyzer;
use super::tests::{Disk, count, indexed};
use super::tuning::Tuning;
use crate::domain::base::cases::cases;
use crate::domain::call::SkipReason;
use crate::domain::code::NearSymbolReason;
use proptest::prelude::*;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const FILES: &[(&str, &str)] = &[
    (
        "src/net/retry.rs",
        "/// Tries again.\npub fn retry_request(n: u32) -> bool {\n    backoff(n) > 0\n}\n\nfn backoff(n: u32) -> u32 {\n    let twice = n * 2;\n    twice\n}\n",
    ),
    (
        "src/net/mod.rs",
        "pub mod retry;\npub struct Client { timeout: u32 }\nimpl Client {\n    pub fn send(&self) -> bool {\n        retry::retry_request(self.timeout)\n    }\n}\n",
    ),
    (
        "src/disk.rs",
        "pub struct Disk;\nimpl Disk {\n    pub fn send(&self) {}\n    pub fn sync_all(&self) {\n        self.send();\n    }\n}\n",
    ),
    ("app/models.py", "class ModelOptions:\n    def validate(self, temperature):\n        return temperature > 0\n"),
    ("tests/all.rs", "fn send_is_tested() {}\n"),
];

fn workspace() -> (tempfile::TempDir, Index) {
    indexed(FILES)
}

fn shorts(index: &Index, typed: &str) -> Vec<String> {
    names::find(index, typed, 10).into_iter().map(|named| named.short).collect()
}

#[test]
fn typed_names_give_unambiguous_references() {
    let (_folder, index) = workspace();
    assert_eq!(shorts(&index, "retry_r"), ["retry_request"]);
    assert_eq!(shorts(&index, "rr"), ["retry_request"]);
    assert_eq!(shorts(&index, "SEND"), ["Disk::send", "Client::send", "send_is_tested"], "tests come last");
    assert_eq!(shorts(&index, "Client::se"), ["Client::send"]);
    assert_eq!(shorts(&index, "ModelOptions.val"), ["validate"]);
    assert_eq!(shorts(&index, "src/disk.rs#Disk::send"), ["Disk::send", "Client::send", "send_is_tested"][..1]);
    assert_eq!(shorts(&index, ""), [""; 0]);
    assert_eq!(names::find(&index, "s", 2).len(), 2);
    for named in names::find(&index, "send", 10) {
        let id = names::at(&index, &named.path, &named.qualified, named.lines.0).unwrap();
        let code = names::reference(&index, id).unwrap();
        assert_eq!((names::resolve(&index, &code), code.lines), (Some(id), named.lines));
    }
}

#[test]
fn symbols_of_one_name_in_one_file_are_distinct() {
    let (_folder, index) = indexed(&[("a.rs", "#[cfg(unix)]\nfn going() {}\n#[cfg(windows)]\nfn going() {}\n")]);
    let both: Vec<_> = index.defined("going").iter().map(|id| names::reference(&index, *id).unwrap()).collect();
    assert_eq!(both.iter().map(|code| code.nth).collect::<Vec<_>>(), [0, 1]);
    assert_ne!(both[0].key(), both[1].key());
    assert!(both.iter().zip(index.defined("going")).all(|(code, id)| names::resolve(&index, code) == Some(*id)));
}

#[test]
fn focus_accepts_folders_files_and_symbols() {
    let (_folder, index) = workspace();
    let of = |names: &[&str]| scope(&index, &names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["./src/net/"]).paths, ["src/net"]);
    assert_eq!(of(&["net"]).paths, ["src/net"]);
    assert_eq!(of(&["disk.rs"]).paths, ["src/disk.rs"]);
    assert_eq!(of(&["Client"]).symbols, index.defined("Client"));
    assert_eq!(of(&["src/disk.rs#send"]).symbols.len(), 1);
    assert_eq!(
        (of(&["nothing_such"]).unknown, of(&["nothing_such"]).is_empty()),
        (vec!["nothing_such".to_owned()], true)
    );
    assert!(of(&["src"]).holds("src/net/mod.rs") && !of(&["src/net"]).holds("src/network.rs"));
}

fn first(index: &Index, text: &str, focus: &[&str]) -> Vec<String> {
    let tuning = Tuning::default();
    let asked = query::read(&mut Analyzer::default(), text, &tuning);
    let focus: Vec<String> = focus.iter().map(|name| (*name).to_owned()).collect();
    let hits = focused(index, rank(index, &asked, &tuning, 50), &scope(index, &focus), &[]);
    hits.iter().filter_map(|hit| Some(index.symbol(hit.id)?.0.name.to_string())).collect()
}

#[test]
fn focus_ranks_first_whatever_the_words() {
    let (_folder, index) = workspace();
    let text = "validate the temperature";
    assert_eq!(first(&index, text, &[])[0], "validate");
    assert_eq!(first(&index, text, &["backoff"])[0], "backoff");
    assert!(first(&index, text, &["backoff"])[1..4].contains(&"retry_request".to_owned()), "its caller is near");
    let disk = first(&index, "what does it do?", &["src/disk.rs"]);
    assert!(disk.contains(&"sync_all".to_owned()) && !disk.contains(&"validate".to_owned()), "{disk:?}");
}

#[test]
fn messages_not_about_code_bring_no_symbols() {
    let (_folder, index) = workspace();
    let gate = |text: &str| {
        let tuning = Tuning::default();
        let asked = query::read(&mut Analyzer::default(), text, &tuning);
        let asked = query::Query { asks: text.ends_with('?'), ..asked };
        skip_reason(&index, &asked, &rank(&index, &asked, &tuning, 50))
    };
    for question in ["how does validate work?", "why does the backoff fail?", "where is the retry decided?"] {
        assert_eq!(gate(question), None, "{question}");
    }
    assert_eq!(gate("why does the request retry?"), None);
    assert_eq!(gate("look at sync_all"), None, "the message spells out a name");
    assert_eq!(gate("see src/net/retry.rs"), None, "the message spells out a path");
    assert_eq!(gate("backoff?"), None, "the only word matches");
    assert!(matches!(gate("thanks, go on"), Some(SkipReason::NoContent | SkipReason::Unknown)));
    assert_eq!(gate("tell a story of elephants and giraffes"), Some(SkipReason::Unknown));
    assert_eq!(gate("a client from Lisbon wrote about elephants"), Some(SkipReason::Faint));
}

/// A method named as one of the standard library is used only by symbols that name its type. A use of a name with
/// several definitions is a guess.
#[test]
fn common_names_give_no_edges_without_their_type() {
    let (_folder, index) = indexed(&[
        (
            "stack.rs",
            "pub struct Stack;\nimpl Stack {\n    pub fn push(&self) {}\n    pub fn twice(&self) { self.push(); }\n}\n",
        ),
        ("fill.rs", "fn fill(all: &mut Vec<u8>) { all.push(1) }\nfn stacked(stack: &Stack) { stack.push() }\n"),
        ("one/a.rs", "pub fn handle_it() {}\n"),
        ("two/b.rs", "pub fn handle_it() {}\n"),
        ("three/c.rs", "pub fn caller(stack: &Stack) { handle_it(); stack.twice(); }\n"),
    ]);
    let id = |name: &str| index.defined(name)[0];
    let mut users: Vec<&str> =
        index.graph().users(id("push")).iter().map(|user| &*index.symbol(*user).unwrap().0.name).collect();
    users.sort_unstable();
    assert_eq!(users, ["stacked", "twice"]);
    let caller = id("caller");
    assert!(index.defined("handle_it").iter().all(|used| index.graph().is_guess(caller, *used)));
    assert!(index.graph().uses(caller).contains(&id("twice")) && !index.graph().is_guess(caller, id("twice")));
}

#[test]
fn questions_that_do_not_speak_of_tests_rank_them_lower() {
    let (_folder, index) = workspace();
    let score = |text: &str, asks: bool| {
        let tuning = Tuning::default();
        let asked = query::Query { asks, ..query::read(&mut Analyzer::default(), text, &tuning) };
        let hits = rank(&index, &asked, &tuning, 50);
        let of = |name: &str| hits.iter().find(|hit| index.defined(name).contains(&hit.id)).map(|hit| hit.score);
        of("send_is_tested").unwrap()
    };
    let text = "where do we send it";
    assert!(score(text, true) < score(text, false) * 0.7);
    assert!(score("where do we send what is tested", true) > score(text, true));
}

/// For the few symbols of a plan, files of tests come later in statements too, unless they speak of tests.
#[test]
fn plans_rank_files_of_tests_lower() {
    let (_folder, index) = workspace();
    let score = |text: &str, tuning: &Tuning| {
        let asked = query::read(&mut Analyzer::default(), text, tuning);
        let hits = rank(&index, &asked, tuning, 50);
        let of = |name: &str| hits.iter().find(|hit| index.defined(name).contains(&hit.id)).map(|hit| hit.score);
        of("send_is_tested").unwrap() / of("send").unwrap()
    };
    let (usual, plans) = (Tuning::default(), Tuning::for_plans());
    let text = "make send faster";
    assert!(score(text, &plans) < score(text, &usual) * 0.7);
    let text = "make send faster when tested";
    assert!(score(text, &plans) > score(text, &usual) * 0.8);
}

/// A message that says what is to be changed opens the search with a label that names a file, with a name of the
/// workspace that is a small part of it, or with an identifier.
#[test]
fn changes_open_the_search_with_little_evidence() {
    let (_folder, index) = workspace();
    let opens = |text: &str| {
        let tuning = Tuning::for_plans();
        let asked = query::read(&mut Analyzer::default(), text, &tuning);
        skip_reason(&index, &asked, &rank(&index, &asked, &tuning, 50)).is_none()
    };
    for text in [
        "disk: use a bounded zebra quagga giraffe elephant",
        "fix(retry): undo zebras and giraffes of elephants",
        "Don't use the backoff of elephants",
        "SyncValidate of it",
        "Limit the backoff of elephants",
    ] {
        assert!(opens(text), "{text}");
    }
    for text in [
        "zebra: use a bounded quagga giraffe elephant",
        "I saw a disk: giraffes of elephants and zebras",
        "the zebras validate giraffes of elephants",
        "a Zebra client for elephants",
        "ZebraClient for elephants",
        "send the zebra to the elephants",
        "the sync of validate",
        "the backoff of elephants",
        "Return to the zebra",
        "Translate the letter of the zebra",
        "Add a giraffe to the story",
    ] {
        assert!(!opens(text), "{text}");
    }
}

#[test]
fn reasons_name_the_heaviest_words() {
    let (folder, index) = workspace();
    let tuning = Tuning::default();
    let asked =
        query::read(&mut Analyzer::default(), "how often is the request tried again with twice the wait", &tuning);
    let hits = rank(&index, &asked, &tuning, 50);
    assert!(hits.iter().all(|hit| hit.matched.len() <= 3));
    let limits = Limits { budget: 900, items: 12, sure: 12, lines: 30, tokens: 600, excerpts: 40 };
    let found = fill(&index, &hits, &Disk(folder.path().into()), &count, limits);
    let why = |name: &str| found.items.iter().find(|item| item.symbol == name).map(|item| item.why.clone()).unwrap();
    assert!(why("backoff").contains("the word \"twice\""), "{}", why("backoff"));
    assert!(why("retry_request").contains("the words \"tried\", \"request\""), "{}", why("retry_request"));
}

#[test]
fn beyond_the_sure_ones_only_good_matches_are_sent() {
    let (folder, index) = workspace();
    let names = ["retry_request", "ModelOptions", "sync_all", "validate"];
    let hits: Vec<Hit> = names
        .iter()
        .zip([1.0, 0.4, 0.46, 0.44])
        .map(|(name, score)| {
            let (id, parts) = (index.defined(name)[0], crate::domain::code::symbols::Parts::default());
            Hit { id, score, parts, matched: Vec::new(), weak: false }
        })
        .collect();
    let sent = |sure: usize| {
        let limits = Limits { budget: 900, items: 12, sure, lines: 0, tokens: 600, excerpts: 40 };
        let found = fill(&index, &hits, &Disk(folder.path().into()), &count, limits);
        let weak = found.near.iter().filter(|near| matches!(near.why, NearSymbolReason::Weak { needed } if needed > 0));
        (found.items.len(), weak.map(|near| near.symbol.clone()).collect::<Vec<_>>())
    };
    assert_eq!(sent(2), (3, vec!["validate".to_owned()]));
    assert_eq!(sent(0), (2, vec!["ModelOptions".to_owned(), "validate".to_owned()]));
    assert_eq!(sent(4).0, 4);
}

/// A plan composes all touchpoints that it may send, each with and without documentation and excerpt, in any budget.
#[test]
fn touchpoints_are_composed_without_a_budget() {
    let (folder, index) = workspace();
    let asked = query::read(&mut Analyzer::default(), "retry the request and validate", &Tuning::default());
    let hits = rank(&index, &asked, &Tuning::default(), 50);
    let limits = Limits { items: 5, sure: 5, lines: 30, tokens: 600, ..Limits::UNLIMITED };
    let found = compose(
        &index,
        &hits,
        &Disk(folder.path().into()),
        &count,
        limits,
        (&SentLines::default(), &SentLines::default()),
    );
    let longer = found.items.iter().filter(|item| item.text.len() > item.brief.len()).count();
    assert!(found.items.len() == 5 && longer > 0 && found.near.is_empty(), "{found:?}");
    assert!(found.items.iter().all(|item| item.text.starts_with(&item.brief)), "{found:?}");
}

/// A further symbol of a file comes before the first of another file only if it scores clearly higher.
#[test]
fn other_files_come_before_further_symbols_of_a_file() {
    let (_folder, index) = workspace();
    let order = |scores: [(&str, f32); 3], tuning: &Tuning| {
        let hit = |(name, score): (&str, f32)| {
            let parts = crate::domain::code::symbols::Parts { words: score, ..Default::default() };
            Hit { id: index.defined(name)[0], score, parts, matched: Vec::new(), weak: false }
        };
        let hits = prefer_other_files(&index, scores.into_iter().map(hit).collect(), tuning);
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
        assert!(hits.iter().all(|hit| (hit.score - hit.parts.sum()).abs() < 1e-6));
        hits.iter().map(|hit| index.symbol(hit.id).unwrap().0.name.to_string()).collect::<Vec<_>>()
    };
    let (one, further, other) = ("retry_request", "backoff", "validate");
    let first = Tuning::default();
    assert_eq!(order([(one, 2.0), (further, 1.5), (other, 1.4)], &first), [one, other, further]);
    assert_eq!(order([(one, 2.0), (further, 1.6), (other, 1.4)], &first), [one, further, other]);
    // After the first ones, other files come first.
    let rest = Tuning { first_sent: 1, ..first };
    assert_eq!(order([(one, 2.0), (further, 1.6), (other, 1.4)], &rest), [one, other, further]);
    assert_eq!(order([(one, 2.0), (further, 1.6), (other, 0.7)], &rest), [one, further, other]);
}

/// Each place goes to the hit whose score is highest after what the hits chosen before it take away; of equal ones, to
/// the earlier.
#[test]
fn each_place_goes_to_the_best_hit_that_remains() {
    let (_folder, index) = workspace();
    let file = |id: u32| index.scored[id as usize].file;
    let ids: Vec<u32> = (0..u32::try_from(index.symbol_slots()).unwrap()).collect();
    let mut scores: Vec<f32> = (0..160_u16).map(|at| f32::from(at * 37 % 101) / 40.0).collect();
    scores.sort_by(|a, b| b.total_cmp(a));
    let hits: Vec<Hit> = ids
        .iter()
        .cycle()
        .zip(scores)
        .map(|(id, score)| {
            let parts = crate::domain::code::symbols::Parts { words: score, ..Default::default() };
            Hit { id: *id, score, parts, matched: Vec::new(), weak: false }
        })
        .collect();
    let tuning = Tuning::for_plans();
    let (mut rest, mut taken, mut wanted) = (hits.clone(), std::collections::BTreeMap::new(), Vec::new());
    while !rest.is_empty() {
        let spread = tuning.spread_sent[usize::from(wanted.len() >= tuning.first_sent)] * hits[0].score;
        let left = |hit: &Hit| hit.score - spread * f32::from(*taken.get(&file(hit.id)).unwrap_or(&0_u16)).sqrt();
        let best = rest.iter().map(left).fold(f32::MIN, f32::max);
        let hit = rest.remove(rest.iter().position(|hit| left(hit) >= best).unwrap());
        *taken.entry(file(hit.id)).or_default() += 1;
        wanted.push((hit.id, hit.score));
    }
    let chosen = prefer_other_files(&index, hits, &tuning);
    let given = |hit: &Hit| (hit.id, hit.parts.words);
    assert_eq!(chosen.iter().map(given).collect::<Vec<_>>(), wanted);
    assert!(taken.len() > 3 && chosen.iter().all(|hit| (hit.score - hit.parts.sum()).abs() < 1e-6));
}

/// Without lines, a touchpoint is its signature with one line of documentation.
#[test]
fn thin_touchpoints_show_named_symbols() {
    let (folder, index) = workspace();
    let tuning = Tuning::default();
    let thin = |text: &str| {
        let asked = query::read(&mut Analyzer::default(), text, &tuning);
        let hits = mentioned(&index, &asked, rank(&index, &asked, &tuning, 50));
        let limits = Limits { budget: 400, items: 6, sure: 6, lines: 0, tokens: 120, excerpts: 50 };
        fill(&index, &hits, &Disk(folder.path().into()), &count, limits).items
    };
    let one = thin("why does retry_request give up?");
    let [card] = one.as_slice() else { panic!("{one:?}") };
    assert_eq!(card.text, "## src/net/retry.rs\n2-4 pub fn retry_request(n: u32) -> bool\n  — Tries again.\n");
    let of = |text: &str| {
        let mut symbols: Vec<String> = thin(text).into_iter().map(|item| item.symbol).collect();
        symbols.sort();
        symbols
    };
    assert_eq!(of("what is in disk.rs"), ["Disk", "send", "sync_all"]);
    assert_eq!(of("does `backoff` overflow, or Client::send?"), ["backoff", "send", "send"]);
    assert_eq!(of("retry the request with and/or without backoff"), [""; 0]);
}

#[test]
fn recheck_sees_changes_and_asks_for_a_survey_when_needed() {
    let (folder, mut index) = workspace();
    let (root, bounds, stop) = (folder.path(), Bounds::default(), AtomicBool::new(false));
    let age = |name: &str| {
        let file = std::fs::File::options().write(true).open(root.join(name)).unwrap();
        file.set_modified(std::time::SystemTime::now() - Duration::from_mins(1)).unwrap();
    };
    for (name, _) in FILES {
        age(name);
    }
    for inside in ["", "src", "src/net", "app", "tests"] {
        let old = std::time::SystemTime::now() - Duration::from_mins(1);
        std::fs::File::open(root.join(inside)).unwrap().set_modified(old).unwrap();
    }
    renew(&mut index, root, &bounds, &stop, &mut |_| (), &mut |_| ()).unwrap();
    let folders = Round::survey(&index, root, &bounds, &stop).unwrap().folders().unwrap();
    let recheck = |index: &Index| Round::recheck(index, root, &folders, false);
    assert!(recheck(&index).unwrap().is_empty());
    std::fs::write(root.join("src/disk.rs"), "pub fn quite_new() {}\n").unwrap();
    let mut round = recheck(&index).unwrap();
    assert!(!round.is_empty());
    round.read_ahead(root, &bounds, &stop);
    let done = round.take_in(&mut index, (root, &bounds, &stop), &mut |_| (), &mut |_| ()).unwrap();
    assert_eq!((done.read, done.files), (1, 5));
    let graph = index.rebuilt_graph().unwrap();
    index.put_graph(graph);
    assert!(index.rebuilt_graph().is_none() && index.defined("quite_new").len() == 1);
    let alive = |name: &str| index.defined(name).iter().any(|id| index.symbol(*id).is_some());
    assert!(alive("quite_new") && !alive("sync_all"));
    std::fs::write(root.join("src/another.rs"), "fn a() {}\n").unwrap();
    assert!(recheck(&index).is_none(), "a new name in a folder needs a survey");
    std::fs::remove_file(root.join("src/disk.rs")).unwrap();
    assert!(recheck(&index).is_none());
    assert!(holds_code(root, 5) && !holds_code(root, 6));
}

/// A folder without code files is watched like any other: the next recheck notices a first file in it, or in a new
/// folder inside it.
#[test]
fn glance_sees_first_file_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (root, bounds, stop) = (folder.path(), Bounds::default(), AtomicBool::new(false));
    std::fs::create_dir_all(root.join("bare/inner")).unwrap();
    std::fs::create_dir_all(root.join("left/out")).unwrap();
    std::fs::write(root.join(".gitignore"), "/left\n").unwrap();
    let old = std::time::SystemTime::now() - Duration::from_mins(1);
    let age = || {
        for inside in ["", "bare", "bare/inner", "left", "left/out", ".gitignore"] {
            std::fs::File::open(root.join(inside)).unwrap().set_modified(old).unwrap();
        }
    };
    age();
    let mut index = Index::default();
    renew(&mut index, root, &bounds, &stop, &mut |_| (), &mut |_| ()).unwrap();
    let survey = |index: &Index| Round::survey(index, root, &bounds, &stop).unwrap();
    let folders = survey(&index).folders().unwrap();
    let quiet = |folders: &Folders| Round::recheck(&index, root, folders, false).is_some_and(|round| round.is_empty());
    assert!(quiet(&folders));
    std::fs::write(root.join("left/out/never.rs"), "fn never() {}\n").unwrap();
    assert!(quiet(&folders), "ignored folders are not watched");
    std::fs::write(root.join("bare/inner/first.rs"), "fn first() {}\n").unwrap();
    assert!(!quiet(&folders));
    std::fs::remove_file(root.join("bare/inner/first.rs")).unwrap();
    age();
    assert!(quiet(&folders));
    std::fs::create_dir(root.join("bare/made")).unwrap();
    assert!(!quiet(&folders), "a new folder changes its parent");
    // A very recent change time cannot be trusted, so the folder counts as changed until the time is old enough.
    assert!(!quiet(&survey(&index).folders().unwrap()));
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn lines_in_the_request_are_not_repeated(
        runs in prop::collection::vec((0_usize..FILES.len(), 1_u32..9, 0_u32..6), 0..6),
        lines in 1_usize..30,
    ) {
        let (folder, index) = workspace();
        let mut taken = SentLines::default();
        for (file, from, length) in &runs {
            taken.add(FILES[*file].0, (*from, from + length));
        }
        let tuning = Tuning::default();
        let text = "retry the request of a client with backoff, send and sync, validate options";
        let asked = query::read(&mut Analyzer::default(), text, &tuning);
        let hits = rank(&index, &asked, &tuning, 50);
        let limits = Limits { items: 12, sure: 12, lines, tokens: 600, ..Limits::UNLIMITED };
        let found = compose(&index, &hits, &Disk(folder.path().into()), &count, limits, (&taken, &SentLines::default()));
        prop_assert!(found.items.len() <= 12);
        for (at, item) in found.items.iter().enumerate() {
            prop_assert!(item.span.1.saturating_sub(item.span.0) <= 30 + 2);
            if item.span.1 > 0 {
                prop_assert_eq!(taken.first_in(&item.path, (item.span.0.max(1), item.span.1)), None, "{:?}", item);
            }
            let apart = |other: &crate::domain::code::symbols::Touchpoint| other.path != item.path || other.span.0 > item.span.1;
            prop_assert!(found.items[at + 1..].iter().all(apart));
        }
    }
}
