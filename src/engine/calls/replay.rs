//! Replays stored calls: renders the request again from the store, unchanged, for another model, or without one item,
//! and sends it on a scratch branch, so that the original stays untouched.
//! Not for: a new answer to a question on the current branch (`plans::draft`).

use super::stored_runs::{one_run, plan_json, unreadable, unwritable};
use crate::context::explain::variant;
use crate::context::policy::lanes;
use crate::context::render::{Outline, checks, render};
use crate::domain::base::{Failure, FailureKind, Hash, NodeId};
use crate::domain::call::tokens::grouped;
use crate::domain::call::{RunCard, Wire};
use crate::domain::conversation::{Branch, Content, Overrides, Role, resolve};
use crate::domain::planning::Reason;
use crate::domain::planning::{Row, RowKind};
use crate::engine::api::{Answer, CallAnswer, Draft, DraftKind, ItemName, ReplayedCall};
use crate::engine::branches::fork::{NewBranch, fresh_name};
use crate::engine::core::{Core, content};
use crate::engine::indexing::messages::searchable;
use crate::engine::plans::edited::raw_request;
use crate::engine::plans::input_builder::Contents;
use crate::engine::plans::instructions::instructions_text;
use crate::engine::plans::labels::{card_text, quote_text, state_text};
use crate::engine::plans::sources::summaries::all_texts;
use crate::engine::plans::worker::{Solved, Stored};
use crate::engine::sessions::library::load_session;
use crate::engine::sessions::session::Session;
use crate::engine::sessions::state::Sessions;
use crate::engine::startup::rules::Rules;
use crate::engine::startup::setup::Setup;
use crate::engine::turns::open_question;
use crate::store::Store;
use std::sync::Arc;

impl Core {
    /// Replays a stored call on a scratch branch.
    pub(crate) fn replay(
        &mut self,
        prefix: &str,
        to: (Option<String>, Option<String>),
        without: Option<&ItemName>,
    ) -> Result<Answer, Failure> {
        let run = one_run(&self.store, prefix)?;
        load_session(&mut self.sessions, &self.store, run.session)?;
        let mut stored = stored(&self.store, &run)?;
        let after = self.sessions.place(&run)?;
        let (profile, model) = to;
        let elsewhere = profile.is_some();
        let parent = self.sessions.branch(run.branch)?;
        let mut overrides = Overrides {
            profile: profile.or_else(|| Some(run.profile.clone())),
            model: model.or_else(|| Some(run.model.clone()).filter(|_| !elsewhere)),
            ..parent.overrides.clone()
        };
        let rules = self.rules(&Branch { overrides: overrides.clone(), ..parent })?;
        overrides.model = Some(rules.model.name.clone());
        let kept = |failure: Failure| failure.kept("Nothing was sent.");
        self.setup.servers.ready(&rules.profile).map_err(kept)?;
        let other = rules.profile.name != run.profile || rules.model.name != run.model;
        if other {
            write_for(&mut stored, &rules);
        }
        if run.edited && other {
            return Err(kept(only_unchanged()));
        }
        let left = without.map(|item| leave_out(&mut stored, &run, item)).transpose().map_err(kept)?;
        let session = self.sessions.of_branch(run.branch)?;
        let contents = if run.edited { Contents::default() } else { restored(&self.store, &stored, session, &run)? };
        let solved = self.setup.solved_again(stored, contents, other || left.is_some())?;
        let (needed, room) = (solved.plan.est_total, solved.plan.budget.prompt);
        if other && needed > room {
            let (needed, limit) = (grouped(needed.into()), solved.plan.budget.limit_in_words());
            let what = format!("The call needs {needed} tokens, but for {} {limit}.", rules.model.name);
            return Err(kept(Failure::new(FailureKind::Blocked, what)).todo("Leave an item out, or use another model."));
        }
        let exact = !other && left.is_none();
        if exact && solved.wire.digest != run.request_digest {
            let todo =
                "One of its messages may have been deleted since; leave an item out, or send the question again.";
            return Err(kept(Failure::user("This call can no longer be repeated byte for byte.")).todo(todo));
        }
        let name = fresh_name(self.sessions.of_branch(run.branch)?, "replay", 1);
        let what = format!("replayed a call on {name}");
        let new_branch = NewBranch::new(name, Some(overrides));
        let id = new_branch.id;
        self.make_branches(run.branch, Some(after), vec![new_branch], what)?;
        let draft = Draft { kind: DraftKind::Continue(after), ..Draft::default() };
        let sent = self.open_turn(id, &draft, &solved)?;
        let branch = Box::new(self.sessions.branch(id)?);
        let left = left.map(|row| (row.atom, row.title));
        Ok(CallAnswer::Replaying(Box::new(ReplayedCall { of: run, run: sent, branch, exact, without: left })).into())
    }
}

/// Renders a stored call again, from the store alone.
pub(crate) fn replay_dry(store: &Store, prefix: &str, without: Option<&ItemName>) -> Result<Answer, Failure> {
    let run = one_run(store, prefix)?;
    let session = Session::load(store, run.session)?;
    let mut stored = stored(store, &run)?;
    without.map(|item| leave_out(&mut stored, &run, item)).transpose()?;
    let (wire, outline) = rendered_again(store, &session, &run, &stored)?;
    let request = Box::new(raw_request(&stored.plan, &wire, &outline));
    Ok(CallAnswer::Replayed { run: Box::new(run), request }.into())
}

/// Renders the request of a stored call of a loaded session.
pub(crate) fn rendered_again(
    store: &Store,
    session: &Session,
    run: &RunCard,
    stored: &Stored,
) -> Result<(Wire, Outline), Failure> {
    let contents = if run.edited { Contents::default() } else { restored(store, stored, session, run)? };
    match by_hand(stored)? {
        Some(wire) => Ok((wire, Outline::new())),
        None => rendered(stored, &contents),
    }
}

impl Setup {
    fn solved_again(&self, mut stored: Stored, contents: Contents, changed: bool) -> Result<Solved, Failure> {
        let edited = by_hand(&stored)?;
        let by_hand = edited.is_some();
        let (wire, outline) = match edited {
            Some(wire) => (wire, Outline::new()),
            None => rendered(&stored, &contents)?,
        };
        if changed {
            let counter = self.counter.as_ref();
            if let Some(tokens) = checks::count_body(&wire.bytes, stored.plan.encoding, counter) {
                stored.plan = variant::with_total(stored.plan, tokens);
            }
        }
        let json = serde_json::to_string(&stored).map_err(|error| unwritable(&error))?;
        Ok(Solved {
            plan: Arc::new(stored.plan),
            wire,
            outline: Arc::new(outline),
            stored: json.into(),
            contents: Arc::new(contents),
            marks: Arc::new([]),
            state_request: None,
            edited: by_hand,
        })
    }
}

impl Sessions {
    /// Returns the node that a call's answer followed or would have followed.
    fn place(&self, run: &RunCard) -> Result<NodeId, Failure> {
        let session = self.of_branch(run.branch)?;
        let above = run.answer.and_then(|id| session.tree.get(id)).and_then(|head| head.parent);
        let asked = run.user.filter(|_| run.round == 1);
        above.or(asked).ok_or_else(|| {
            Failure::user("That call produced no message, so it has no place in the tree.")
                .todo("Send its question again.")
        })
    }
}

/// Reads the stored plan of a call.
pub(crate) fn stored(store: &Store, run: &RunCard) -> Result<Stored, Failure> {
    serde_json::from_str(&plan_json(store, run.plan)?).map_err(|error| unreadable(&error))
}

/// Returns the texts of a stored plan: the program's own from the plan, the others from the messages that it names.
pub(crate) fn restored(store: &Store, stored: &Stored, session: &Session, run: &RunCard) -> Result<Contents, Failure> {
    let mut contents = own_texts(store, stored, session, None)?;
    for row in stored.plan.included() {
        restore_row(store, row, session, run, &mut contents)?;
    }
    Ok(contents)
}

/// Returns the texts of one row of a stored plan.
pub(crate) fn restored_row(
    store: &Store,
    stored: &Stored,
    row: &Row,
    session: &Session,
    run: &RunCard,
) -> Result<Contents, Failure> {
    let mut contents = own_texts(store, stored, session, Some(row))?;
    restore_row(store, row, session, run, &mut contents)?;
    Ok(contents)
}

/// Returns the texts that the stored plan contains (with `only`, the texts of that row), and the texts of states and
/// summaries.
fn own_texts(store: &Store, stored: &Stored, session: &Session, only: Option<&Row>) -> Result<Contents, Failure> {
    let mut contents = Contents::default();
    let sent = |hash: &Hash| only.is_none_or(|row| row.text == Some(*hash));
    let made = |key: &Hash| only.is_none_or(|row| row.items.iter().any(|item| item.key == *key));
    contents
        .blocks
        .extend(stored.texts.iter().filter(|(hash, _)| sent(hash)).map(|(hash, text)| (*hash, text.clone())));
    let messages = stored.made.iter().filter(|(key, _)| made(key));
    contents.messages.extend(messages.map(|(key, content)| (*key, Arc::new(content.clone()))));
    for state in &session.states {
        let text = state_text(&state.text);
        contents.blocks.insert(Hash::of(text.as_bytes()), text.into());
    }
    for (hash, settings) in stored.cards.iter().filter(|(hash, _)| sent(hash)) {
        let Some(node) = store.nodes(&[settings.node])?.pop() else { continue };
        let text = settings.text(&searchable(&node.head, &node.content));
        if Hash::of(text.as_bytes()) == *hash {
            contents.blocks.insert(*hash, text.into());
        }
    }
    for text in session.summaries.values().flat_map(|held| all_texts(&held.summary)) {
        contents.blocks.insert(Hash::of(text.as_bytes()), text.into());
    }
    Ok(contents)
}

/// Adds the messages of a row, and the text that is made from them.
fn restore_row(
    store: &Store,
    row: &Row,
    session: &Session,
    run: &RunCard,
    contents: &mut Contents,
) -> Result<(), Failure> {
    for item in &row.items {
        let new = item.node.is_none() && item.role == Role::User;
        let asked = run.user.filter(|_| new).and_then(|id| session.tree.slot(id));
        let slot = if new { asked } else { session.tree.by_key(item.key) };
        if let Some(slot) = slot.filter(|_| !contents.messages.contains_key(&item.key)) {
            let content = content(store, session.tree.head(slot).id)?;
            contents.messages.insert(item.key, Arc::new(content));
        }
    }
    if let Some(text) = restored_block(store, row, session, contents)? {
        contents.blocks.insert(Hash::of(text.as_bytes()), text.into());
    }
    Ok(())
}

fn restored_block(store: &Store, row: &Row, session: &Session, contents: &Contents) -> Result<Option<String>, Failure> {
    match row.kind {
        RowKind::Card if !row.items.is_empty() => {
            let parts: Vec<(Role, Arc<Content>)> = row
                .items
                .iter()
                .filter_map(|item| contents.messages.get(&item.key).map(|content| (item.role, content.clone())))
                .collect();
            Ok(Some(card_text(row.source.turn.unwrap_or(0), row.source.at.unwrap_or(0), &parts)))
        }
        RowKind::Quote if row.reason == Reason::Pending => {
            let waited = session.states.iter().filter_map(|state| lanes::pending(&state.text));
            let mut texts = waited.map(|pending| open_question::text(&pending));
            Ok(texts.find(|text| Some(Hash::of(text.as_bytes())) == row.text))
        }
        RowKind::Quote => {
            let Some(head) = row.source.message.and_then(|id| session.tree.get(id)) else { return Ok(None) };
            Ok(Some(quote_text(head, &content(store, head.id)?)))
        }
        RowKind::Message => {
            let Some(head) = row.source.message.and_then(|id| session.tree.get(id)) else { return Ok(None) };
            Ok(instructions_text(head, &content(store, head.id)?))
        }
        // Their texts are stored with the plan.
        RowKind::Card
        | RowKind::Text
        | RowKind::State
        | RowKind::Note
        | RowKind::Preamble
        | RowKind::Turn
        | RowKind::Summary
        | RowKind::Range
        | RowKind::Part
        | RowKind::Search
        | RowKind::Memory
        | RowKind::Request
        | RowKind::Rules
        | RowKind::Skills
        | RowKind::Module
        | RowKind::Code => Ok(None),
    }
}

/// Leaves an item out of a stored call, and returns its row.
fn leave_out(stored: &mut Stored, run: &RunCard, item: &ItemName) -> Result<Row, Failure> {
    if run.edited {
        return Err(only_unchanged());
    }
    let row = named(&stored.plan.rows, item)?;
    let made = variant::without_item(&stored.plan, &stored.request, row.atom);
    stored.plan = made.ok_or_else(|| Failure::user("The question itself can't be left out."))?;
    Ok(row)
}

fn only_unchanged() -> Failure {
    Failure::user("A request that was edited by hand can only be replayed unchanged.")
        .todo("Edit the next request instead.")
}

/// Rewrites a stored call for the model of other rules.
fn write_for(stored: &mut Stored, rules: &Rules) {
    let tools = if rules.profile.dialect.tools { std::mem::take(&mut stored.request.tools) } else { Vec::new() };
    stored.request = rules.shape(tools);
    stored.plan = variant::for_model(&stored.plan, &stored.request, &rules.profile.name, rules.budget);
}

/// Returns the exact bytes of an edited request; `None` if the request was not edited.
fn by_hand(stored: &Stored) -> Result<Option<Wire>, Failure> {
    match &stored.edited {
        Some(body) if body.is_empty() => Err(Failure::user(
            "The edited request was deleted: it may have quoted a message that was deleted permanently.",
        )
        .kept("The plan itself can still be read with `pleach plans show`.")),
        body => Ok(body.as_ref().map(|body| Wire::new(body.as_bytes().to_vec()))),
    }
}

pub(crate) fn rendered(stored: &Stored, contents: &Contents) -> Result<(Wire, Outline), Failure> {
    render(&stored.plan, &stored.request, contents).map_err(|gone| {
        Failure::user(format!("{gone}.")).kept("The plan itself can still be read with `pleach plans show`.")
    })
}

/// Returns the row of a call that an item names: by its atom, by its turn's number, by a prefix of an id that `plan
/// --json` and `message list` show, or by an imported id.
fn named(rows: &[Row], item: &ItemName) -> Result<Row, Failure> {
    let mut included = rows.iter().filter(|row| row.included());
    let gone = || Failure::user("That item was not in the call.").todo("`pleach plans show RUN --json` lists the ids.");
    let text = match item {
        ItemName::Atom(atom) => return included.find(|row| row.atom == *atom).cloned().ok_or_else(gone),
        ItemName::TurnOf(node) | ItemName::Message(node) => node.to_string(),
        ItemName::Named { text, .. } => text.trim().to_owned(),
        ItemName::Note(_) | ItemName::Span { .. } => return Err(gone()),
    };
    let turn: Option<u32> = text.parse().ok();
    if let Some(row) = rows.iter().find(|row| row.included() && turn.is_some() && row.source.turn == turn) {
        return Ok(row.clone());
    }
    let starts = |id: String| !text.is_empty() && id.starts_with(&text);
    let fits = |row: &&Row| {
        let node = row.source.message.is_some_and(|node| starts(node.to_string()));
        let inside = row.items.iter().filter_map(|item| item.node).any(|node| starts(node.to_string()));
        let outside = row.source.external_id.as_deref() == Some(resolve::imported(&text).unwrap_or(&text));
        node || inside || outside || starts(row.atom.key().to_string())
    };
    match included.filter(fits).collect::<Vec<_>>().as_slice() {
        [row] => Ok((*row).clone()),
        [] => Err(gone()),
        _ => Err(Failure::user(format!("{text:?} matches several items of the call.")).todo("Type more of the id.")),
    }
}
