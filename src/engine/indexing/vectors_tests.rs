//! Tests of `vectors`: messages whose vectors could not be made are requested again.

use super::*;
use crate::domain::conversation::message::node_key;
use crate::domain::conversation::{Content, NodeHead, Role};
use crate::engine::sessions::path::tests::head;
use crate::store::OpenOptions;
use std::sync::mpsc::channel;
use uuid::Uuid;

/// An embedder whose calls fail while `fails` contains an error.
#[derive(Default)]
struct Failing {
    fails: Mutex<Option<EmbedError>>,
}

impl Embed for Failing {
    fn id(&self) -> String {
        "failing".into()
    }

    fn dims(&self) -> usize {
        2
    }

    fn remote(&self) -> bool {
        false
    }

    fn embed(&self, texts: &[&str], _: Purpose, _: &dyn Fn() -> bool) -> Result<Vec<Vec<f32>>, EmbedError> {
        match self.fails.lock().unwrap().clone() {
            Some(error) => Err(error),
            None => Ok(vec![vec![0.6, 0.8]; texts.len()]),
        }
    }
}

/// Stores a chain of messages, more than fit in a batch. Returns their path.
fn stored(store: &Store, session: SessionId) -> Vec<PathNode> {
    let mut nodes: Vec<Node> = Vec::new();
    for number in 0..COMPUTED_AT_ONCE + 8 {
        let content = Content::text(format!("The crane number {number} is red."));
        let (parent, hash) = (nodes.last().map(|node| (node.head.key, node.head.id)), content.hash());
        let head = NodeHead {
            id: NodeId(Uuid::now_v7()),
            key: node_key(parent.map(|(key, _)| key), Role::User, Some(hash), 0, None),
            parent: parent.map(|(_, id)| id),
            bytes: content.bytes(),
            content: Some(hash),
            ..head(1, None, Role::User)
        };
        nodes.push(Node { head, content });
    }
    let path = nodes.iter().map(|node| PathNode::of(&node.head)).collect();
    store
        .write(vec![Write::PutSession { id: session, title: String::new(), at: 1 }, Write::PutNodes { session, nodes }])
        .unwrap();
    path
}

#[test]
fn a_batch_that_failed_is_requested_again() {
    let session = SessionId(Uuid::now_v7());
    for error in [EmbedError::Answer("no vectors".into()), EmbedError::Stopped] {
        let folder = tempfile::tempdir().unwrap();
        let options = OpenOptions { path: folder.path().join("pleach.db"), read_only: false };
        let store = Store::open(&options).unwrap().store;
        let path = stored(&store, session);
        let embedder = Arc::new(Failing { fails: Mutex::new(Some(error)) });
        let open: Arc<dyn Embed> = embedder.clone();
        let (events, _received) = channel();
        let vectors = Vectors::start(store, events, Arc::new(move || Ok(open.clone())), false).unwrap();
        vectors.want(session, &path);
        vectors.settle();
        assert!(vectors.arrived(session).is_empty());
        *embedder.fails.lock().unwrap() = None;
        vectors.lock().down = None;
        vectors.want(session, &path);
        vectors.settle();
        let arrived: HashSet<Hash> = vectors.arrived(session).into_iter().map(|(key, _)| key).collect();
        assert_eq!(arrived, path.iter().map(|node| node.key).collect());
        vectors.close();
    }
}
