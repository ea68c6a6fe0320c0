//! Gathers a plan's input from a snapshot: fetches contents, projects them, counts them, and remembers the counts.
//! Runs on the planner's thread. Not for: putting the input together (`assemble`) or solving (`context`).

use super::assemble::Work;
use super::finder::Finder;
use super::found;
use super::recipe::Recipe;
use super::remembered::{self, Memories};
use super::snapshot::Snapshot;
use crate::context::project::{self, Standing};
use crate::context::render::Texts;
use crate::domain::activation::Touches;
use crate::domain::evidence::RetrievalSet;
use crate::domain::failure::Failure;
use crate::domain::hash::{Fields, Hash};
use crate::domain::ids::{NodeId, SessionId};
use crate::domain::input::{Bar, MessageInput, PartInput, PlanInput};
use crate::domain::message::{Content, End, Node, NodeHead, Part, Role};
use crate::domain::plan::{Form, Warning};
use crate::domain::tokens::{CountTokens, Encoding};
use crate::domain::trace::ToolTrace;
use crate::retrieval::cluster::Placed;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::HashMap;
use std::sync::Arc;

/// Characters to which tool results may be cut (see `context`).
const CUTS: [u32; 3] = [300, 1_000, 5_000];
/// Messages whose counts are remembered before the memory is emptied.
const REMEMBERED: usize = 50_000;
/// Bytes of contents kept at hand.
const KEPT_BYTES: u64 = 48 * 1024 * 1024;

/// Texts by hash and by key, as rendering wants them.
#[derive(Default, Debug)]
pub(super) struct Bag {
    pub(super) blocks: HashMap<Hash, Arc<str>>,
    /// How cards are made from their messages, by the hash of their text.
    pub(super) recipes: HashMap<Hash, Recipe>,
    /// What was looked up.
    pub(super) sets: Vec<RetrievalSet>,
    /// The subject of what is asked.
    pub(super) subject: Option<Placed>,
    pub(super) contents: HashMap<Hash, Arc<Content>>,
}

impl Texts for Bag {
    fn block(&self, text: Hash) -> Option<Arc<str>> {
        self.blocks.get(&text).cloned()
    }

    fn content(&self, key: Hash) -> Option<Arc<Content>> {
        self.contents.get(&key).cloned()
    }
}

/// What gathering gives.
pub(super) struct Gathered {
    pub(super) input: PlanInput,
    pub(super) bag: Bag,
    /// Messages that are still to be indexed before they can be looked through.
    pub(super) behind: usize,
}

/// A message as a plan's input takes it, with what decides whether calls and results belong together.
#[derive(Clone)]
pub(super) struct Counted {
    pub(super) message: MessageInput,
    pub(super) calls: Vec<(String, String)>,
    pub(super) reply: Option<String>,
}

/// See the module.
pub(super) struct Gatherer {
    store: Store,
    counter: Arc<dyn CountTokens>,
    pub(super) finder: Finder,
    pub(super) memories: Memories,
    memory: HashMap<(Hash, Encoding, bool), Counted>,
    contents: HashMap<Hash, Arc<Content>>,
    content_bytes: u64,
    pub(super) facts: super::facts::Memory,
    pub(super) questions: super::subjects::Questions,
    /// What the workspace says of itself.
    pub(super) project: Option<Arc<super::project::Project>>,
    /// The workspace's code.
    pub(super) code: Option<super::codebase::Codebase>,
    pub(super) analyzer: crate::code::words::Analyzer,
    pub(super) weighed: super::switches::Weighed,
}

impl Gatherer {
    pub(super) fn new(store: Store, counter: Arc<dyn CountTokens>) -> Self {
        let (finder, memories) = (Finder::new(store.clone()), Memories::new(store.clone()));
        Self {
            store,
            counter,
            finder,
            memories,
            memory: HashMap::new(),
            contents: HashMap::new(),
            content_bytes: 0,
            facts: super::facts::Memory::default(),
            questions: super::subjects::Questions::default(),
            project: None,
            code: None,
            analyzer: crate::code::words::Analyzer::default(),
            weighed: super::switches::Weighed::default(),
        }
    }

    /// Forgets everything that was remembered of messages (some were removed).
    pub(super) fn forget(&mut self) {
        self.memory.clear();
        self.contents.clear();
        self.content_bytes = 0;
        self.finder.forget();
        self.facts.forget();
        self.questions.forget();
    }

    /// Gathers. Where the model's own tokenizer cannot be used, another vocabulary counts and a warning says so.
    pub(super) fn gather(&mut self, snapshot: &Snapshot) -> Result<Gathered, Failure> {
        let (instead, why) = self.counter.settle(snapshot.rules.model.encoding);
        let Some(why) = why else { return self.gather_counted(snapshot) };
        let mut settled = snapshot.clone();
        settled.rules.model.encoding = instead;
        let mut found = self.gather_counted(&settled)?;
        found.input.warnings.push(Warning::TokenizerUnused { why, instead });
        Ok(found)
    }

    fn gather_counted(&mut self, snapshot: &Snapshot) -> Result<Gathered, Failure> {
        let joins = snapshot.rules.profile.dialect.strict_alternation;
        let heads: Vec<&NodeHead> =
            snapshot.turns.iter().chain([&snapshot.open]).flat_map(|turn| &turn.heads).collect();
        self.prepare(&heads, snapshot.rules.model.encoding, joins)?;
        let mut found = Work::new(self, snapshot).assemble()?;
        super::guidance::add(self, snapshot, &mut found)?;
        let asked = found::asked(self, snapshot)?;
        found.bag.subject = super::subjects::place(self, snapshot, asked.as_deref())?;
        remembered::add(self, snapshot, asked.as_deref(), &mut found)?;
        super::repeats::add(self, snapshot, &mut found)?;
        super::orient::add(self, snapshot, asked.as_deref(), &mut found)?;
        found::add(self, snapshot, asked, &mut found)?;
        super::suggested::add(snapshot, &mut found.input);
        Ok(found)
    }

    /// The store.
    pub(super) fn store(&self) -> &Store {
        &self.store
    }

    /// The token counter.
    pub(super) fn counter(&self) -> Arc<dyn CountTokens> {
        self.counter.clone()
    }

    /// What is remembered of a message.
    pub(super) fn counted(&self, key: Hash, encoding: Encoding, joins: bool) -> Option<Counted> {
        self.memory.get(&(key, encoding, joins)).cloned()
    }

    /// A content that is at hand.
    pub(super) fn at_hand(&self, key: Hash) -> Option<Arc<Content>> {
        self.contents.get(&key).cloned()
    }

    /// Counts the messages that are not remembered yet, with one read for contents and one for known counts.
    fn prepare(&mut self, heads: &[&NodeHead], encoding: Encoding, joins: bool) -> Result<(), Failure> {
        if self.memory.len() > REMEMBERED {
            self.memory.clear();
        }
        let unknown = |head: &&&NodeHead| !self.memory.contains_key(&(head.key, encoding, joins));
        let missing: Vec<&NodeHead> = heads.iter().filter(unknown).copied().collect();
        for batch in missing.chunks(256) {
            self.count_batch(batch, encoding, joins)?;
        }
        Ok(())
    }

    fn count_batch(&mut self, heads: &[&NodeHead], encoding: Encoding, joins: bool) -> Result<(), Failure> {
        self.fetch(heads)?;
        let drafts: Vec<(usize, Projected)> = heads
            .iter()
            .enumerate()
            .map(|(at, head)| {
                let content = self.contents.get(&head.key).cloned().unwrap_or_default();
                (at, Projected::new(head, &content, joins))
            })
            .collect();
        let keys: Vec<Hash> =
            drafts.iter().flat_map(|(_, draft)| draft.texts()).map(|t| Hash::of(t.as_bytes())).collect();
        let mut known = self.store.counts(&keys, encoding)?;
        let mut fresh = Vec::new();
        for (at, draft) in drafts {
            let mut count = |text: &str| -> u32 {
                let key = Hash::of(text.as_bytes());
                *known.entry(key).or_insert_with(|| {
                    let tokens = self.counter.count(encoding, text);
                    fresh.push((key, encoding, tokens));
                    tokens
                })
            };
            let counted = draft.counted(heads[at], &mut count);
            self.memory.insert((heads[at].key, encoding, joins), counted);
        }
        if !fresh.is_empty() && !self.store.read_only() {
            self.store.post(vec![Write::PutCounts(fresh)]);
        }
        Ok(())
    }

    /// Brings contents near; forgets all when they grow too large.
    pub(super) fn fetch(&mut self, heads: &[&NodeHead]) -> Result<(), Failure> {
        if self.content_bytes > KEPT_BYTES {
            self.contents.clear();
            self.content_bytes = 0;
        }
        let ids: Vec<NodeId> = heads.iter().filter(|h| !self.contents.contains_key(&h.key)).map(|h| h.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        for Node { head, content } in self.store.nodes(&ids)? {
            self.content_bytes += content.bytes() + 200;
            self.contents.insert(head.key, Arc::new(content));
        }
        Ok(())
    }

    /// The content of one node.
    pub(super) fn content(&mut self, key: Hash, id: Option<NodeId>) -> Result<Option<Arc<Content>>, Failure> {
        if let Some(content) = self.contents.get(&key) {
            return Ok(Some(content.clone()));
        }
        let Some(id) = id else { return Ok(None) };
        Ok(self.store.nodes(&[id])?.pop().map(|node| {
            let content = Arc::new(node.content);
            self.contents.insert(key, content.clone());
            content
        }))
    }

    /// The newest tool calls of a session, oldest first.
    pub(super) fn traces(&self, session: SessionId, most: usize) -> Result<Vec<ToolTrace>, Failure> {
        Ok(self.store.traces(session, most)?)
    }

    /// What turns touched, by the keys of their last nodes.
    pub(super) fn touches(&self, session: SessionId, tips: &[Hash]) -> Result<HashMap<Hash, Touches>, Failure> {
        Ok(self.store.touches(session, tips)?)
    }

    /// A message with its head.
    pub(super) fn node(&self, id: NodeId) -> Result<Option<Node>, Failure> {
        Ok(self.store.nodes(&[id])?.pop())
    }

    /// Tokens of a text.
    pub(super) fn count(&self, encoding: Encoding, text: &str) -> u32 {
        self.counter.count(encoding, text)
    }
}

/// A message's texts in every form that it may take.
struct Projected {
    whole_form: Form,
    whole: String,
    cuts: Vec<(u32, String)>,
    elided: Option<String>,
    placeholder: String,
    calls: Vec<(String, String, String)>,
    reply: Option<String>,
    bar: Option<Bar>,
    parts: Vec<PartInput>,
}

impl Projected {
    fn new(head: &NodeHead, content: &Content, joins: bool) -> Self {
        let standing = Standing { joins, ..Standing::default() };
        let text = |form: Form| project::wire_text(head.key, head.role, content, form, standing);
        let stateful =
            head.role == Role::Assistant && crate::domain::state::find(&project::plain(content), true).is_some();
        let whole_form = if stateful { Form::NoState } else { Form::Full };
        let calls: Vec<(String, String, String)> =
            content.calls().map(|(id, name, args)| (id.to_owned(), name.to_owned(), args.to_owned())).collect();
        let length = if head.role == Role::Tool { project::plain(content).chars().count() } else { 0 };
        let whole = text(whole_form);
        Self {
            cuts: CUTS.into_iter().filter(|limit| length > *limit as usize).map(|l| (l, text(Form::Cut(l)))).collect(),
            elided: (!calls.is_empty()).then(|| text(Form::Elided)),
            placeholder: text(Form::Placeholder),
            reply: reply_to(content),
            parts: opaque_parts(head.key, content),
            bar: bar(head, whole.is_empty() && calls.is_empty()),
            whole_form,
            whole,
            calls,
        }
    }

    fn texts(&self) -> impl Iterator<Item = &str> {
        let calls = self.calls.iter().flat_map(|(_, name, args)| [name.as_str(), args.as_str()]);
        let cuts = self.cuts.iter().map(|(_, text)| text.as_str());
        let own = [self.whole.as_str(), self.placeholder.as_str()];
        own.into_iter().chain(self.elided.as_deref()).chain(cuts).chain(calls)
    }

    fn counted(self, head: &NodeHead, count: &mut impl FnMut(&str) -> u32) -> Counted {
        let called: u32 = self.calls.iter().map(|(_, name, args)| count(name) + count(args)).sum();
        Counted {
            message: MessageInput {
                key: head.key,
                node: Some(head.id),
                role: head.role,
                title: head.preview.clone(),
                whole: self.whole_form,
                tokens: count(&self.whole) + called,
                cuts: self.cuts.iter().map(|(limit, text)| (*limit, count(text))).collect(),
                elided: self.elided.as_deref().map(&mut *count),
                placeholder: count(&self.placeholder) + called,
                calls: u16::try_from(self.calls.len()).unwrap_or(u16::MAX),
                orphan: false,
                bar: self.bar,
                parts: self.parts,
            },
            calls: self.calls.into_iter().map(|(id, name, _)| (id, name)).collect(),
            reply: self.reply,
        }
    }
}

fn opaque_parts(key: Hash, content: &Content) -> Vec<PartInput> {
    let named = content.parts.iter().enumerate().filter_map(|(at, part)| match part {
        Part::Opaque { mime, bytes, raw } => Some(PartInput {
            atom: Fields::new("part").hash(key).number(at as u64).hash(*raw).finish(),
            title: format!("{mime}, {bytes} bytes"),
        }),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Reply { .. } => None,
    });
    named.collect()
}

fn reply_to(content: &Content) -> Option<String> {
    content.parts.iter().find_map(|part| match part {
        Part::Reply { call, .. } => Some(call.clone()),
        Part::Text { .. } | Part::Reasoning { .. } | Part::Call { .. } | Part::Opaque { .. } => None,
    })
}

/// Why a message is not sent by itself.
pub(super) fn bar(head: &NodeHead, empty: bool) -> Option<Bar> {
    if head.end == End::Removed {
        Some(Bar::Removed)
    } else if empty {
        Some(Bar::Empty)
    } else if head.hidden {
        Some(Bar::Hidden)
    } else if head.role == Role::System {
        Some(Bar::Foreign)
    } else {
        None
    }
}
