//! A store with many messages of random words with Zipf-distributed frequencies, written in large batches.

use crate::dice::Dice;
use crate::shared;
use crate::support::bench::{Bench, Client, Model};
use pleach::domain::base::{BranchId, NodeId, SessionId};
use pleach::domain::conversation::message::node_key;
use pleach::domain::conversation::{Branch, Content, End, Node, NodeHead, Role};
use pleach::llm::counting::tokens::Tokenizers;
use pleach::store::types::Write;
use pleach::store::{OpenOptions, Store};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use uuid::Uuid;

/// The session with all messages on its path, and the small second session.
pub(crate) const LONG: &str = "long";
/// The title of the second session.
pub(crate) const SHORT: &str = "short";
/// Messages in a transaction.
const BATCH: usize = 10_000;

/// A question of six words, and with `stops` as many stop words.
pub(crate) fn question(dice: &mut Dice, stops: bool) -> String {
    let mut words = Vec::new();
    for _ in 0..6 {
        if stops {
            words.push(dice.stop());
        }
        words.push(dice.word());
    }
    words.join(" ")
}

fn node(parent: Option<&NodeHead>, number: usize, text: &str) -> Node {
    let content = Content::text(text);
    let hash = content.hash();
    let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
    let head = NodeHead {
        id: NodeId(Uuid::now_v7()),
        key: node_key(parent.map(|parent| parent.key), role, Some(hash), 0, None),
        parent: parent.map(|parent| parent.id),
        ord: 0,
        role,
        end: End::Complete,
        at: 1_700_000_000_000 + i64::try_from(number).unwrap() * 40_000,
        bytes: content.bytes(),
        calls: 0,
        hidden: false,
        imported: false,
        content: Some(hash),
        preview: NodeHead::preview_of(text),
        model: None,
        name: None,
        lane: String::new(),
        external_id: None,
    };
    Node { head, content }
}

fn session(store: &Store, title: &str, (count, longest): (usize, usize), dice: &mut Dice) {
    let id = SessionId(Uuid::now_v7());
    store.write(vec![Write::PutSession { id, title: title.into(), at: 10 }]).unwrap();
    let mut last: Option<NodeHead> = None;
    for from in (0..count).step_by(BATCH) {
        let mut nodes = Vec::with_capacity(BATCH);
        for number in from..(from + BATCH).min(count) {
            let node = node(last.as_ref(), number, &dice.text(longest));
            last = Some(node.head.clone());
            nodes.push(node);
        }
        store.write(vec![Write::PutNodes { session: id, nodes }]).unwrap();
    }
    let branch = Branch::new(BranchId(Uuid::now_v7()), id, "main", last.map(|head| head.id), 5);
    store.write(vec![Write::PutBranch(Box::new(branch))]).unwrap();
}

/// Starts an engine on this store.
pub(crate) fn start(store: &Path) -> (Bench, Client) {
    let bench = Bench::new(&Model::new([]));
    let store = Store::open(&OpenOptions { path: store.to_owned(), read_only: false }).unwrap().store;
    let client = bench.start_with(|setup| {
        setup.store = store;
        setup.counter = Arc::new(Tokenizers::new());
        setup.settings.policies = shared::presets();
        setup.settings.models = shared::models(1_047_576);
    });
    (bench, client)
}

/// Creates a store with a session of `count` messages and one of `beside` messages.
pub(crate) fn store(path: &Path, count: usize, beside: usize) {
    store_of(path, (count, 62), beside);
}

/// Likewise, with a maximum number of words for each message.
pub(crate) fn store_of(path: &Path, (count, longest): (usize, usize), beside: usize) {
    let since = Instant::now();
    let store = Store::open(&OpenOptions { path: path.to_owned(), read_only: false }).unwrap().store;
    let mut dice = Dice(1);
    session(&store, LONG, (count, longest), &mut dice);
    session(&store, SHORT, (beside, 62), &mut dice);
    store.close();
    println!("{count} messages written in {:.1} s", since.elapsed().as_secs_f64());
}
