//! Summaries read back unchanged, the views have the old column names, and removal deletes their texts.

use super::{SampleSession, TempStore, check_store, number, on_writer, sample_session};
use crate::domain::base::Hash;
use crate::domain::summary::{KeepReason, KeptSentence, StoredDraft, Summary, SummaryKind, SummarySource, TurnCover};
use crate::store::Store;
use crate::store::types::{StoreError, Write};

fn summary(sample: &SampleSession, kind: SummaryKind, text: &str, nodes: usize) -> Summary {
    let heads: Vec<_> = sample.nodes.iter().take(nodes).map(|node| &node.head).collect();
    let read = heads.iter().map(|head| (head.key, head.content.unwrap())).collect();
    Summary {
        id: Hash::default(),
        kind,
        lane: "root".into(),
        text: Some(text.into()),
        source: SummarySource::Extractive,
        model: None,
        prompt_version: 1,
        confidence: 900,
        generated_at: 5,
        covers: vec![TurnCover { user: heads[0].key, tip: heads[nodes - 1].key, nodes: read }],
        turns: (1, 1),
        files: Vec::new(),
        source_hash: Hash::default(),
        parent: None,
        original_tokens: 500,
        tokens: 50,
        kept: vec![KeptSentence {
            text: format!("kept {text}"),
            node: heads[0].key,
            turn: 1,
            who: "user".into(),
            auto: false,
        }],
    }
    .sealed()
}

fn text(store: &Store, sql: &'static str) -> String {
    on_writer(store, move |conn| conn.query_row(sql, [], |row| row.get(0)).unwrap())
}

#[test]
fn round_trip_views_and_figures() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["question", "answer", "more"]);
    let session = sample.session;
    let lane = summary(&sample, SummaryKind::Lane, "lane text", 2);
    let whole = Summary { parent: Some(lane.id), ..summary(&sample, SummaryKind::Session, "whole", 3) }.sealed();
    let put = |summary: &Summary, at| Write::PutSummary { session, summary: Box::new(summary.clone()), at };
    store.write(vec![put(&lane, 7), put(&whole, 8), put(&lane, 9)]).unwrap();
    assert_eq!(store.summaries(session).unwrap(), [lane.clone(), whole.clone()]);
    assert_eq!(store.last_summary_at(session).unwrap(), Some(9));
    let figures =
        "SELECT group_concat(original_tokens || ' ' || compressed_tokens || ' ' || timestamp, ', ') FROM metrics";
    assert_eq!(text(&store, figures), "500 50 7, 500 50 8, 500 50 9");
    assert_eq!(text(&store, "SELECT summary FROM thread_summary WHERE thread_key = 'root'"), "lane text");
    assert_eq!(text(&store, "SELECT summary FROM session_summary"), "whole");
    let ids: Vec<String> =
        serde_json::from_str(&text(&store, "SELECT source_ids FROM summaries WHERE level = 3")).unwrap();
    assert_eq!(ids, lane.covers[0].nodes.iter().map(|(key, _)| key.to_string()).collect::<Vec<_>>());
    assert_eq!(number(&store, "SELECT tokens FROM summaries WHERE level = 2"), 50);
    assert_eq!(number(&store, "SELECT CAST(compression_ratio AS INTEGER) FROM metrics LIMIT 1"), 10);
}

#[test]
fn summaries_of_a_branch_change_by_compare_and_swap() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["question", "answer", "more"]);
    let (a, b) = (Hash::of(b"a"), Hash::of(b"b"));
    let set =
        |expect: Vec<Hash>, summaries: Vec<Hash>| Write::SetSummaries { branch: sample.branch, expect, summaries };
    store.write(vec![set(Vec::new(), vec![a, b])]).unwrap();
    assert!(matches!(store.write(vec![set(Vec::new(), vec![b])]), Err(StoreError::Moved)));
    assert_eq!(store.branches(sample.session).unwrap()[0].summaries, [a, b]);
}

#[test]
fn removal_deletes_the_text_and_keeps_id_and_hashes() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["question", "answer", "more"]);
    let session = sample.session;
    let small = summary(&sample, SummaryKind::Lane, "of two", 2);
    let large = summary(&sample, SummaryKind::Lane, "of three", 3);
    for summary in [&small, &large] {
        store.write(vec![Write::PutSummary { session, summary: Box::new(summary.clone()), at: 1 }]).unwrap();
    }
    store.write(vec![Write::Tombstone { session, nodes: vec![sample.nodes[2].head.id] }]).unwrap();
    let stored = store.summaries(session).unwrap();
    assert_eq!(stored[0], small);
    assert_eq!(stored[1], Summary { text: None, kept: Vec::new(), ..large });
    assert_eq!(number(&store, "SELECT count(*) FROM summaries"), 1);
    check_store(&store);
    store.write(vec![Write::DeleteSession(session)]).unwrap();
    for sql in ["SELECT count(*) FROM capsule", "SELECT count(*) FROM capsule_cover", "SELECT count(*) FROM metrics"] {
        assert_eq!(number(&store, sql), 0, "{sql}");
    }
}

fn stored(sample: &SampleSession, text: &str, nodes: usize) -> StoredDraft {
    StoredDraft {
        branch: sample.branch,
        summary: summary(sample, SummaryKind::Lane, text, nodes),
        body: text.into(),
        stays: vec![(3, KeepReason::Pinned)],
        run: None,
        cause: Some("a cause".into()),
        warnings: vec!["a warning".into()],
    }
}

/// Of two programs that store a draft at once, or decide on one, the second one fails.
#[test]
fn a_branch_has_one_draft_which_changes_by_compare_and_swap() {
    let place = TempStore::new();
    let (store, other) = (place.open(), place.open());
    let sample = sample_session(&store, ["question", "answer", "more"]);
    let (a, b) = (stored(&sample, "first", 2), stored(&sample, "second", 2));
    let put = |draft: &StoredDraft, expect| Write::PutDraft {
        session: sample.session,
        draft: Box::new(draft.clone()),
        expect,
    };
    let delete = |draft: &StoredDraft| Write::DeleteDraft { branch: sample.branch, expect: draft.id() };
    store.write(vec![put(&a, None)]).unwrap();
    assert!(matches!(other.write(vec![put(&b, None)]), Err(StoreError::Moved)));
    assert_eq!(other.summary_draft(sample.branch).unwrap(), Some(a.clone()));
    other.write(vec![put(&b, Some(a.id()))]).unwrap();
    assert!(matches!(store.write(vec![delete(&a)]), Err(StoreError::Moved)));
    assert!(matches!(store.write(vec![put(&a, Some(a.id()))]), Err(StoreError::Moved)));
    assert_eq!(store.summary_draft_id(sample.branch).unwrap(), Some(b.id()));
    store.write(vec![delete(&b)]).unwrap();
    assert_eq!(other.summary_draft(sample.branch).unwrap(), None);
}

#[test]
fn removal_deletes_the_drafts_of_a_message() {
    let place = TempStore::new();
    let store = place.open();
    let sample = sample_session(&store, ["question", "answer", "more"]);
    let session = sample.session;
    let remove = |at: usize| Write::Tombstone { session, nodes: vec![sample.nodes[at].head.id] };
    let draft = stored(&sample, "a text of two", 2);
    store.write(vec![Write::PutDraft { session, draft: Box::new(draft.clone()), expect: None }]).unwrap();
    store.write(vec![remove(2)]).unwrap();
    assert_eq!(store.summary_draft(sample.branch).unwrap(), Some(draft));
    store.write(vec![remove(1)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM summary_draft"), 0);
    let draft = stored(&sample, "of one", 1);
    store.write(vec![Write::PutDraft { session, draft: Box::new(draft), expect: None }]).unwrap();
    check_store(&store);
    store.write(vec![Write::DeleteSession(session)]).unwrap();
    assert_eq!(number(&store, "SELECT count(*) FROM summary_draft"), 0);
}
