//! Fetches, renders, and counts the messages that a plan's input is built from, and caches the counts. Runs on the
//! planner's thread.
//! Not for: collecting a whole input (`collect`), or solving (`context`).

use super::caches::{CountedTools, FactsCache, MAX_CACHED, Questions};
use super::sources::card_text::CardSettings;
use super::sources::memory_terms::Memories;
use super::sources::round_parts::RoundParts;
use crate::code::parse::words::Analyzer;
use crate::context::render::TextSource;
use crate::context::render::render_forms::{self, WireState};
use crate::domain::base::{Failure, Fields, Hash, NodeId};
use crate::domain::call::{CodeSet, CountTokens, Encoding, RetrievalSet};
use crate::domain::conversation::state;
use crate::domain::conversation::{Content, End, Node, NodeHead, Part, Role};
use crate::domain::planning::{Form, MessageInput, Offer, PartInput, PlanInput, SendBarrier, StateRequestOutcome};
use crate::engine::indexing::code_workspace::CodeWorkspace;
use crate::engine::indexing::messages::MessageSearch;
use crate::engine::tools::workspace::Project;
use crate::retrieval::cluster::QuestionPlace;
use crate::store::Store;
use crate::store::types::Write;
use std::collections::HashMap;
use std::sync::Arc;

/// The lengths in characters that tool results may be cut to (see `context`).
const CUTS: [u32; 3] = [300, 1_000, 5_000];
/// The bytes of cached contents at which the cache is cleared.
const KEPT_BYTES: u64 = 48 * 1024 * 1024;

/// The texts of a plan's input by hash and by key, for rendering.
#[derive(Default, Debug)]
pub(crate) struct Contents {
    pub(crate) blocks: HashMap<Hash, Arc<str>>,
    /// The settings for rendering each card from its message, by the hash of the card's text.
    pub(crate) card_settings: HashMap<Hash, CardSettings>,
    pub(crate) sets: Vec<RetrievalSet>,
    /// The retrieval set of the search of older messages, until the plan is solved.
    pub(crate) search: Option<RetrievalSet>,
    /// The retrieval set of the code search. Its id and sent items are filled in after the plan is solved.
    pub(crate) code_set: Option<Arc<CodeSet>>,
    /// The offers of the sources, for the next round of the turn.
    pub(crate) round_parts: RoundParts,
    pub(crate) subject: Option<QuestionPlace>,
    pub(crate) messages: HashMap<Hash, Arc<Content>>,
}

impl Contents {
    /// Adds the text of a block and returns its hash and its tokens, as `count` counts them.
    pub(crate) fn add_block(&mut self, text: String, count: &dyn Fn(&str) -> u32) -> (Hash, u32) {
        let counted = (Hash::of(text.as_bytes()), count(&text));
        self.blocks.insert(counted.0, text.into());
        counted
    }
}

impl TextSource for Contents {
    fn block(&self, text: Hash) -> Option<Arc<str>> {
        self.blocks.get(&text).cloned()
    }

    fn content(&self, key: Hash) -> Option<Arc<Content>> {
        self.messages.get(&key).cloned()
    }
}

/// A collected input with its texts.
pub(crate) struct BuiltInput {
    pub(crate) input: PlanInput,
    pub(crate) contents: Contents,
    /// Why the request can't ask for a state block; `None` if the planner decides.
    pub(crate) never_asks: Option<StateRequestOutcome>,
    /// The number of messages that are not indexed yet.
    pub(crate) unindexed: usize,
}

/// A message as plan input, with the data that matches calls to results.
#[derive(Clone)]
pub(crate) struct CountedMessage {
    pub(crate) message: MessageInput,
    pub(crate) calls: Vec<(String, String)>,
    pub(crate) reply: Option<String>,
}

/// Fetches and counts messages, with all caches of the planner's thread.
pub(crate) struct InputBuilder {
    store: Store,
    counter: Arc<dyn CountTokens>,
    pub(crate) finder: MessageSearch,
    pub(crate) memories: Memories,
    memory: HashMap<(Hash, Encoding, bool), CountedMessage>,
    contents: HashMap<Hash, Arc<Content>>,
    content_bytes: u64,
    pub(crate) facts: FactsCache,
    pub(crate) questions: Questions,
    /// The workspace's rules, skills, and module summaries.
    pub(crate) project: Option<Arc<Project>>,
    /// The workspace's code.
    pub(crate) code: Option<CodeWorkspace>,
    pub(crate) analyzer: Analyzer,
    /// The last counted tools.
    pub(crate) tool_costs: Option<CountedTools>,
}

impl BuiltInput {
    /// Adds an offer. Its texts become part of the basis of the plan.
    pub(crate) fn offer(&mut self, offer: Offer) {
        let mut frozen = Fields::new("offer").hash(self.input.basis.frozen).number(offer.candidates.len() as u64);
        for block in offer.heading.iter().chain(offer.candidates.iter().map(|one| &one.block)) {
            frozen = frozen.hash(block.text).number(u64::from(block.tokens)).json(&block.section);
        }
        self.input.basis.frozen = frozen.finish();
        self.input.offers.push(offer);
    }
}

impl InputBuilder {
    pub(crate) fn new(store: Store, counter: Arc<dyn CountTokens>) -> Self {
        let (finder, memories) = (MessageSearch::new(store.clone()), Memories::new(store.clone()));
        Self {
            store,
            counter,
            finder,
            memories,
            memory: HashMap::new(),
            contents: HashMap::new(),
            content_bytes: 0,
            facts: FactsCache::default(),
            questions: Questions::new(),
            project: None,
            code: None,
            analyzer: Analyzer::default(),
            tool_costs: None,
        }
    }

    /// Clears everything cached about messages, after some were removed.
    pub(crate) fn forget(&mut self) {
        self.memory.clear();
        self.contents.clear();
        self.content_bytes = 0;
        self.finder.forget();
        self.facts.by_message.clear();
        self.questions.clear();
    }

    pub(crate) fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn counter(&self) -> Arc<dyn CountTokens> {
        self.counter.clone()
    }

    /// Returns the cached count of a message, if any.
    pub(crate) fn counted(&self, key: Hash, encoding: Encoding, joins: bool) -> Option<CountedMessage> {
        self.memory.get(&(key, encoding, joins)).cloned()
    }

    /// Returns a cached content, if any.
    pub(crate) fn cached_content(&self, key: Hash) -> Option<Arc<Content>> {
        self.contents.get(&key).cloned()
    }

    /// Counts the messages that are not cached yet, with one read for contents and one for stored counts per batch.
    pub(crate) fn prepare(&mut self, heads: &[&NodeHead], encoding: Encoding, joins: bool) -> Result<(), Failure> {
        if self.memory.len() > MAX_CACHED {
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
        let drafts: Vec<(usize, RenderedForms)> = heads
            .iter()
            .enumerate()
            .map(|(at, head)| {
                let content = self.contents.get(&head.key).cloned().unwrap_or_default();
                (at, RenderedForms::new(head, &content, joins))
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

    /// Reads contents into the cache, which is cleared first if it is too large.
    pub(crate) fn fetch(&mut self, heads: &[&NodeHead]) -> Result<(), Failure> {
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

    /// Returns the content of one node; `None` if it is neither cached nor stored.
    pub(crate) fn content(&mut self, key: Hash, id: Option<NodeId>) -> Result<Option<Arc<Content>>, Failure> {
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

    /// Returns a function that counts the tokens of a text.
    pub(crate) fn counting(&self, encoding: Encoding) -> impl Fn(&str) -> u32 + use<> {
        let counter = self.counter();
        move |text: &str| counter.count(encoding, text)
    }

    /// Counts the tokens of a text.
    pub(crate) fn count(&self, encoding: Encoding, text: &str) -> u32 {
        self.counter.count(encoding, text)
    }
}

/// A message's texts in every form in which it may be sent.
struct RenderedForms {
    whole_form: Form,
    whole: String,
    cuts: Vec<(u32, String)>,
    elided: Option<String>,
    placeholder: String,
    calls: Vec<(String, String, String)>,
    reply: Option<String>,
    bar: Option<SendBarrier>,
    parts: Vec<PartInput>,
}

impl RenderedForms {
    fn new(head: &NodeHead, content: &Content, joins: bool) -> Self {
        let wire_state = WireState { joins, ..WireState::default() };
        let text = |form: Form| render_forms::wire_text(head.key, head.role, content, form, wire_state);
        let stateful = head.role == Role::Assistant && state::find(&render_forms::plain(content), true).is_some();
        let whole_form = if stateful { Form::NoState } else { Form::Full };
        let calls: Vec<(String, String, String)> =
            content.calls().map(|(id, name, args)| (id.to_owned(), name.to_owned(), args.to_owned())).collect();
        let length = if head.role == Role::Tool { render_forms::plain(content).chars().count() } else { 0 };
        let whole = text(whole_form);
        Self {
            cuts: CUTS.into_iter().filter(|limit| length > *limit as usize).map(|l| (l, text(Form::Cut(l)))).collect(),
            elided: (!calls.is_empty()).then(|| text(Form::Elided)),
            placeholder: text(Form::Placeholder),
            reply: reply_to(content),
            parts: opaque_parts(head.key, content),
            // A tool result without text still answers its call.
            bar: send_barrier(head, whole.is_empty() && calls.is_empty() && reply_to(content).is_none()),
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

    fn counted(self, head: &NodeHead, count: &mut impl FnMut(&str) -> u32) -> CountedMessage {
        let called: u32 = self.calls.iter().map(|(_, name, args)| count(name) + count(args)).sum();
        CountedMessage {
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

/// Returns why a message is not sent by default; `None` if it is sent.
pub(crate) fn send_barrier(head: &NodeHead, empty: bool) -> Option<SendBarrier> {
    if head.end == End::Removed {
        Some(SendBarrier::Removed)
    } else if empty {
        Some(SendBarrier::Empty)
    } else if head.hidden {
        Some(SendBarrier::Hidden)
    } else if head.role == Role::System {
        Some(if head.imported { SendBarrier::Foreign } else { SendBarrier::Instructions })
    } else {
        None
    }
}
