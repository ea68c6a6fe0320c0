//! Every write reads back unchanged.

use super::{TempStore, branch, card, node, number, sample_session};
use crate::domain::base::cases::cases;
use crate::domain::base::{BranchId, Hash, NodeId, RunId, SessionId};
use crate::domain::call::{Encoding, RunCard, RunStatus, Usage, UsageReport};
use crate::domain::conversation::{
    Actor, Atom, Change, Content, End, Mark, MarkKind, Node, Operation, Overrides, Part, Role, StateVersion,
    SuggestedPin, Touch, Touches,
};
use crate::domain::planning::{Anchor, Form, Mode};
use crate::domain::tool::{ToolStatus, ToolTrace, trace};
use crate::store::Store;
use crate::store::types::{OpenRun, PassageVector, StoreError, Write};
use proptest::prelude::*;
use uuid::Uuid;

fn parts() -> impl Strategy<Value = Part> {
    let text = prop_oneof![
        "\\PC{0,40}",
        Just("large é\u{0}\"\n".repeat(700)),
        Just("x".repeat(4_096)),
        Just("x".repeat(4_097))
    ];
    prop_oneof![
        text.clone().prop_map(|text| Part::Text { text }),
        text.clone().prop_map(|text| Part::Reasoning { text }),
        ("[a-z]{1,8}", text.clone()).prop_map(|(id, args)| Part::Call { name: format!("tool_{id}"), id, args }),
        ("[a-z]{1,8}", text).prop_map(|(call, body)| Part::Reply { name: call.clone(), call, body }),
        (0..1_u64 << 50).prop_map(|bytes| Part::Opaque { mime: "image/png".into(), raw: Hash::of(b"i"), bytes }),
    ]
}

proptest! {
    #![proptest_config(cases(24))]
    #[test]
    fn contents_read_back_unchanged(all in proptest::collection::vec(parts(), 0..6), null in any::<bool>()) {
        let place = TempStore::new();
        let store = place.open();
        let sample = sample_session(&store, ["a", "b", "c"]);
        let content = Content { parts: all, extra: null.then_some(serde_json::Value::Null) };
        let node = node(sample.nodes.last(), Role::Assistant, content);
        store.write(vec![Write::PutNodes { session: sample.session, nodes: vec![node.clone()] }]).unwrap();
        let read = store.nodes(&[node.head.id]).unwrap();
        prop_assert_eq!(&read[0], &node);
        let indexed = number(&store, "SELECT count(*) FROM search_docsize");
        prop_assert_eq!(indexed, 4);
        super::check_store(&store);
    }
}

#[test]
fn sessions_and_their_counters() {
    let place = TempStore::new();
    let store = place.open();
    assert_eq!(store.last_session().unwrap(), None);
    let one = sample_session(&store, ["a", "b", "c"]);
    let two = sample_session(&store, ["a", "b", "c"]);
    let card = store.session(one.session).unwrap().unwrap();
    assert_eq!((card.messages, card.branches, card.created_at, card.updated_at), (3, 1, 10, 1_000));
    let mut late = node(one.nodes.last(), Role::Assistant, Content::text("later"));
    late.head.at = 2_000;
    let other = branch(one.session, "other", Some(one.nodes[0].head.id));
    let (session, second) = (one.session, other.id);
    store
        .write(vec![
            Write::PutNodes { session, nodes: vec![late] },
            Write::PutBranch(Box::new(other)),
            Write::SetTitle { session, title: "Named".into() },
            Write::UseSession(two.session),
            Write::UseSession(session),
            Write::UseBranch(one.branch),
            Write::UseBranch(second),
        ])
        .unwrap();
    let cards = store.sessions().unwrap();
    assert_eq!(cards.iter().map(|c| c.id).collect::<Vec<_>>(), [session, two.session]);
    assert_eq!((cards[0].title.as_str(), cards[0].messages, cards[0].branches), ("Named", 4, 2));
    assert_eq!(store.last_session().unwrap(), Some(session));
    assert_eq!(store.last_branch(session).unwrap(), Some(second));
    assert_eq!(store.last_branch(two.session).unwrap(), None);
    store.write(vec![Write::ArchiveBranch { branch: second, archived: true }]).unwrap();
    store.write(vec![Write::ArchiveBranch { branch: second, archived: true }]).unwrap();
    assert_eq!(store.session(session).unwrap().unwrap().branches, 1);
    store.write(vec![Write::DeleteSession(session)]).unwrap();
    assert_eq!(store.last_session().unwrap(), Some(two.session));
    assert_eq!(store.session(SessionId(Uuid::now_v7())).unwrap(), None);
    assert_eq!(store.heads(two.session).unwrap().len(), 3);
}

#[test]
fn nodes_are_ordered_and_large_texts_stored_once() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let big = "words ".repeat(2_000);
    let first = node(sample.nodes.last(), Role::Tool, Content::text(&big));
    let second = node(Some(&first), Role::Tool, Content::text(&big));
    let nodes = vec![first.clone(), second.clone()];
    store.write(vec![Write::PutNodes { session: sample.session, nodes }]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM body"), 1);
    assert_eq!(number(&store, "SELECT refs FROM body"), 2);
    let missing = NodeId(Uuid::now_v7());
    let read = store.nodes(&[second.head.id, missing, first.head.id]).unwrap();
    assert_eq!(read, [second, first]);
    let heads = store.heads(sample.session).unwrap();
    let mut seen = std::collections::HashSet::new();
    assert!(heads.iter().all(|head| head.parent.is_none_or(|p| seen.contains(&p)) && seen.insert(head.id)));
    assert_eq!(heads.len(), 5);
}

#[test]
fn a_node_with_a_known_key_is_skipped_and_its_children_attach() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let mut again: Vec<Node> = sample.nodes.clone();
    for place in 0..again.len() {
        again[place].head.id = NodeId(Uuid::now_v7());
        again[place].head.parent = (place > 0).then(|| again[place - 1].head.id);
    }
    let mut grown = node(again.last(), Role::Assistant, Content::text("new"));
    grown.head.external_id = Some("m4".into());
    let given = grown.head.id;
    again.push(grown);
    store
        .write(vec![
            Write::PutNodes { session: sample.session, nodes: again.clone() },
            Write::PutNodes { session: sample.session, nodes: again },
        ])
        .unwrap();
    let heads = store.heads(sample.session).unwrap();
    assert_eq!(heads.len(), 4);
    assert_eq!(heads[3].parent, Some(sample.nodes[2].head.id));
    assert_eq!(store.session(sample.session).unwrap().unwrap().messages, 4);
    assert_eq!(heads[3].id, given);
}

fn mark(text: &str, revision: u64) -> Mark {
    Mark {
        target: Atom::Section { text: Hash::of(text.as_bytes()) },
        kind: MarkKind::leased(3),
        by: Actor::User,
        note: Some(text.into()),
        inherited_from: Some("main".into()),
        revision,
        counted: Some(Hash::of(b"u")),
        renewals: 2,
        origin: None,
        code: None,
    }
}

#[test]
fn branches_with_all_their_fields() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let mut forked = branch(sample.session, "fork", Some(sample.nodes[1].head.id));
    forked.parent = Some(sample.branch);
    forked.fork = Some(sample.nodes[1].head.id);
    forked.marks = vec![mark("z", 1), mark("a", 4)];
    forked.seq = 9;
    store.write(vec![Write::PutBranch(Box::new(forked.clone()))]).unwrap();
    let id = forked.id;
    assert_eq!(store.branches(sample.session).unwrap()[1], forked);
    let overrides = Overrides { mode: Some(Mode::Heavy), budget: Some(9), ..Overrides::default() };
    let anchor = Anchor {
        start: Hash::of(b"s"),
        shortened_to: None,
        form: Form::Cut(300),
        budget: 5,
        policy: "layered".into(),
        summaries: Vec::new(),
    };
    let (name, reply) = ("renamed".to_owned(), Some(Hash::of(b"r")));
    let (expect, head) = (forked.head, Some(sample.nodes[2].head.id));
    store
        .write(vec![
            Write::SetOverrides { branch: id, overrides: Box::new(overrides.clone()) },
            Write::SetAnchor { branch: id, anchor: Some(anchor.clone()) },
            Write::SetReply { branch: id, reply },
            Write::RenameBranch { branch: id, name: name.clone() },
            Write::ArchiveBranch { branch: id, archived: true },
            Write::MoveHead { branch: id, expect, head },
            Write::PutMark { branch: id, target: mark("z", 1).target, expect: Some(1), mark: Some(mark("z", 2)) },
            Write::PutMark { branch: id, target: mark("a", 4).target, expect: Some(4), mark: None },
            Write::PutMark { branch: id, target: mark("n", 1).target, expect: None, mark: Some(mark("n", 1)) },
        ])
        .unwrap();
    forked.overrides = overrides;
    forked.anchor = Some(anchor);
    (forked.reply, forked.name, forked.archived, forked.head, forked.seq) = (reply, name, true, head, 10);
    forked.marks = vec![mark("z", 2), mark("n", 1)];
    assert_eq!(store.branches(sample.session).unwrap()[1], forked);
    store
        .write(vec![Write::SetAnchor { branch: id, anchor: None }, Write::SetReply { branch: id, reply: None }])
        .unwrap();
    let read = store.branches(sample.session).unwrap().remove(1);
    assert_eq!((read.anchor, read.reply), (None, None));
}

#[test]
fn states_and_operations() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let session = sample.session;
    let mut version = StateVersion {
        text: "Goal: x".into(),
        node: sample.nodes[1].head.id,
        key: sample.nodes[1].head.key,
        edited: true,
        branch: Some(sample.branch),
        withdrawn: false,
        offered: false,
        version: 1,
        at: 3,
        pins: vec![SuggestedPin { key: Hash::of(b"k"), branch: sample.branch, code: None }],
    };
    let second = StateVersion { version: 2, edited: false, branch: None, ..version.clone() };
    store
        .write(vec![
            Write::PutState { session, version: second.clone() },
            Write::PutState { session, version: version.clone() },
        ])
        .unwrap();
    version.withdrawn = true;
    store.write(vec![Write::PutState { session, version: version.clone() }]).unwrap();
    assert_eq!(store.states(session).unwrap(), [version, second]);

    let op = |what: &str| {
        let changes = vec![Change::Title { before: "a".into(), after: what.into() }];
        Write::PutOperation(Box::new(Operation { seq: 0, session, what: what.into(), changes, undone: false, at: 1 }))
    };
    store.write(vec![op("one"), op("two")]).unwrap();
    let ops = store.ops(session).unwrap();
    assert_eq!(ops.iter().map(|o| o.what.as_str()).collect::<Vec<_>>(), ["one", "two"]);
    store.write(vec![Write::SetUndone { seq: ops[1].seq, undone: true }]).unwrap();
    assert!(store.ops(session).unwrap()[1].undone);
    store.write(vec![op("three")]).unwrap();
    let after = store.ops(session).unwrap();
    assert_eq!(after.iter().map(|o| o.what.as_str()).collect::<Vec<_>>(), ["one", "three"]);
    assert!(after[1].seq > ops[1].seq);
    assert!(matches!(store.write(vec![Write::SetUndone { seq: 999, undone: true }]), Err(StoreError::Moved)));
}

#[test]
fn touches_of_a_turn_are_written_once() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let (session, node) = (sample.session, sample.nodes[1].head.key);
    let one = |name: &[u8]| Touch { item: Hash::of(name), user: true, ..Touch::default() };
    let put = |name: &[u8]| {
        let touches = Touches { touched: vec![one(name)], ..Touches::default() };
        store.write(vec![Write::PutTouches { session, node, touches }]).unwrap();
        store.touches(session, &[node, sample.nodes[2].head.key]).unwrap()
    };
    assert!(store.touches(session, &[node]).unwrap().is_empty());
    let first = put(b"x");
    assert_eq!((first.len(), first[&node].touched.as_slice()), (1, [one(b"x")].as_slice()));
    assert_eq!(put(b"y"), first, "a known node is skipped");
}

#[test]
fn runs_from_open_to_closed() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let head = Some(sample.nodes[2].head.id);
    let user = node(sample.nodes.last(), Role::User, Content::text("draft"));
    let mut run = OpenRun {
        card: card(&sample, RunStatus::Open),
        owner: store.owner().to_owned(),
        after: head,
        head,
        user: Some((user.head, user.content)),
    };
    let id = run.card.id;
    store.write(vec![Write::OpenRun(Box::new(run.clone()))]).unwrap();
    assert_eq!(store.open_runs().unwrap(), [run.clone()]);
    store.post(vec![Write::PutChunk { run: id, seq: 1, body: b"two".to_vec() }]);
    store.post(vec![Write::PutChunk { run: id, seq: 0, body: b"one".to_vec() }]);
    run.card.ttft_ms = Some(4);
    run.after = run.user.take().map(|(head, _)| head.id);
    store.write(vec![Write::UserIsNode(id), Write::PutRun(Box::new(run.card.clone()))]).unwrap();
    assert_eq!(store.chunks(id).unwrap(), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(store.open_runs().unwrap(), [run.clone()]);
    run.card.status = RunStatus::Complete;
    store.write(vec![Write::CloseRun(Box::new(run.card.clone()))]).unwrap();
    store.write(vec![Write::PutChunk { run: id, seq: 2, body: b"late".to_vec() }]).unwrap();
    assert!(store.chunks(id).unwrap().is_empty() && store.open_runs().unwrap().is_empty());
    assert_eq!(store.runs(sample.session).unwrap(), [run.card.clone()]);
    assert_eq!(store.plan_runs(run.card.plan).unwrap(), [run.card.clone()]);
    assert_eq!(store.run_by_prefix(&id.to_string()[..15]).unwrap(), [run.card]);
    assert!(store.run_by_prefix("zz").unwrap().is_empty());
}

fn report(run: &RunCard, plan: Hash) -> UsageReport {
    UsageReport {
        run: run.id,
        plan,
        provider: "p".into(),
        model: "m".into(),
        encoding: "cl100k_base".into(),
        est_prompt: 3,
        est_by_section: vec![("system".into(), 3)],
        usage: Usage { prompt: Some(4), ..Usage::default() },
        short: false,
        est_error_pct: Some(100.0 / 3.0 + 1e-14),
        finish_reason: None,
        ttft_ms: Some(1),
        total_ms: 2,
        attempts: 1,
        cost_micro: Some(5),
        at: 6,
    }
}

fn newest_usage(store: &Store, limit: usize) -> Vec<(RunId, u32)> {
    let mut found = Vec::new();
    let take = |report: UsageReport| {
        found.push((report.run, report.est_prompt));
        true
    };
    store.recent_usage(limit, take).unwrap();
    found
}

#[test]
fn plans_traces_usage_counts_settings() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let session = sample.session;
    let run = card(&sample, RunStatus::Complete);
    let plan = Hash([0xab; 32]);
    let trace = |call: &str, status| ToolTrace {
        call_id: call.into(),
        run: run.id,
        turn: Some(Hash::of(b"t")),
        status,
        bytes: 9,
        truncated_from: Some(10),
        ..trace::sample("read", "{}", ToolStatus::Ok, "p")
    };
    let report = report(&run, plan);
    let (key, other) = (Hash::of(b"k"), Hash::of(b"o"));
    let put = |call: &str, status| Write::PutTrace { session, trace: Box::new(trace(call, status)) };
    store
        .write(vec![
            Write::PutPlan { id: plan, branch: sample.branch, body: "{\"a\":1}".into() },
            Write::PutPlan { id: plan, branch: sample.branch, body: "{\"other\":1}".into() },
            Write::PutPlan { id: Hash([0xac; 32]), branch: sample.branch, body: "{}".into() },
            Write::PutRun(Box::new(run.clone())),
            put("one", None),
            put("two", Some(ToolStatus::Failed)),
            put("three", None),
            put("two", Some(ToolStatus::Ok)),
            Write::PutUsage(Box::new(report.clone())),
            Write::PutCounts(vec![(key, Encoding::O200kBase, 7), (key, Encoding::Cl100kBase, 8)]),
            Write::SetValue { key: "trust".into(), value: Some("yes".into()) },
        ])
        .unwrap();
    assert_eq!(store.plan_by_prefix("ab").unwrap(), [(plan, "{\"a\":1}".to_owned())]);
    assert_eq!(store.plan_by_prefix("a").unwrap().len(), 2);
    assert_eq!(store.traces(session, 2).unwrap(), [trace("two", Some(ToolStatus::Ok)), trace("three", None)]);
    assert_eq!((newest_usage(&store, 9), newest_usage(&store, 0)), (vec![(run.id, 3)], Vec::new()));
    let mut reports = Vec::new();
    let keep = |report| {
        reports.push(report);
        true
    };
    store.recent_usage(9, keep).unwrap();
    assert_eq!(reports, [report]);
    let counts = store.counts(&[key, other], Encoding::O200kBase).unwrap();
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [(key, 7)]);
    assert_eq!(store.setting("trust").unwrap().as_deref(), Some("yes"));
    store.write(vec![Write::SetValue { key: "trust".into(), value: None }]).unwrap();
    assert_eq!(store.setting("trust").unwrap(), None);
}

#[test]
fn search_finds_words() {
    let place = TempStore::new();
    let store = place.open();
    let one = sample_session(&store, ["the quick brown fox", "jumps over", "the lazy dog"]);
    let two = sample_session(&store, ["a quick reply", "nothing", "more"]);
    let big =
        node(one.nodes.last(), Role::Assistant, Content::text(format!("{} needle \"quoted\"", "hay ".repeat(2_000))));
    store.write(vec![Write::PutNodes { session: one.session, nodes: vec![big] }]).unwrap();
    let found = |words: &str| store.search(words, 10).unwrap();
    assert_eq!((found("QUICK").len(), store.search("quick", 1).unwrap().len()), (2, 1));
    assert_eq!((found("reply"), found("need")), (vec![two.session], vec![one.session]));
    assert_eq!((found("need "), found("\"quoted\" AND"), found("s1 * ) ^ -- \"")), (vec![], vec![], vec![]));
    assert_eq!(found("needle \"quoted\""), [one.session]);
    let newest = |words: &str, limit| store.newest_with(words, one.session, limit).unwrap();
    let [first, _, third] = [0, 1, 2].map(|at| one.nodes[at].head.id);
    assert_eq!((newest("quick brown", 9), newest("brown quick", 9)), (vec![first], vec![]));
    assert_eq!((newest("the", 9), newest("the", 1)), (vec![third, first], vec![third]));
    assert_eq!((newest("reply", 9), newest("s1 * ) ^ -- \"", 9), newest("", 9)), (vec![], vec![], vec![]));
}

#[test]
fn an_unknown_target_changes_nothing() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["a", "b", "c"]);
    let unknown = BranchId(Uuid::now_v7());
    let result = store.write(vec![
        Write::SetTitle { session: sample.session, title: "half".into() },
        Write::RenameBranch { branch: unknown, name: "x".into() },
    ]);
    assert!(matches!(result, Err(StoreError::Moved)), "{result:?}");
    assert_eq!(store.session(sample.session).unwrap().unwrap().title, "A talk");
    assert!(store.chunks(RunId(Uuid::now_v7())).unwrap().is_empty());
    assert!(store.heads(SessionId(Uuid::now_v7())).unwrap().is_empty());
    let mut orphan = node(None, Role::User, Content::text("orphan"));
    orphan.head.parent = Some(NodeId(Uuid::now_v7()));
    orphan.head.end = End::Complete;
    let result = store.write(vec![Write::PutNodes { session: sample.session, nodes: vec![orphan] }]);
    assert!(matches!(result, Err(StoreError::Sql(_))), "{result:?}");
}

#[test]
fn vectors_are_stored_by_model_and_text() {
    let place = TempStore::new();
    let store = place.open();
    let node = sample_session(&store, ["one two three", "answer", "more"]).nodes[0].head.id;
    let keys = [Hash::of(b"one"), Hash::of(b"two"), Hash::of(b"three")];
    let put = |model: &str, codes: &[(Hash, Vec<u8>)]| {
        let vectors = codes.iter().map(|(key, code)| PassageVector { node, key: *key, code: code.clone() }).collect();
        store.write(vec![Write::PutEmbeddings { model: model.into(), vectors }]).unwrap();
    };
    let codes = [(keys[0], vec![1, 2]), (keys[1], vec![3])];
    put("m", &codes);
    put("n", &[(keys[0], vec![9])]);
    assert_eq!(store.embeddings("m", &keys).unwrap(), codes.into());
    assert_eq!(store.embeddings("n", &keys).unwrap(), [(keys[0], vec![9])].into());
    put("n", &[(keys[0], vec![8])]);
    assert_eq!(store.embeddings("n", &keys).unwrap()[&keys[0]], [8]);
    store.write(vec![Write::DropEmbeddings(vec![keys[0], keys[2]])]).unwrap();
    assert_eq!(store.embeddings("m", &keys).unwrap(), [(keys[1], vec![3])].into());
    assert!(store.embeddings("n", &keys).unwrap().is_empty());
}
