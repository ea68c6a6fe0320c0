//! The tool calls of the branch or session on the screen: the listed calls, their groups, and their links.
//! Not for: the keys (`update`), or the appearance (`view`).

use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{NodeId, RunId};
use crate::domain::tool::consent::FileChange;
use crate::domain::tool::resolution::{self, Link, LinkKind, TraceFilter};
use crate::domain::tool::trace::ToolTrace;
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::session::Session;
use std::collections::HashMap;
use std::sync::Arc;

/// One line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// A call, by its index in the session.
    Call(usize),
    /// A kind of failure: its tool, its message, its count, and the number of fixed ones.
    Kind(String, String, usize, usize),
}

/// Texts of a call that are only in the store.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The result as sent to the model.
    pub result: Option<(Hash, Arc<str>)>,
    /// The full result.
    pub full: Option<(Hash, Arc<str>)>,
    /// The files that it changed.
    pub files: Vec<FileChange>,
}

/// The state from which the list was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Stamp {
    revision: u64,
    tip: Option<NodeId>,
    live: Option<RunId>,
    whole: bool,
    grouped: bool,
    filter: String,
}

/// The screen.
#[derive(Clone, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent view options")]
pub struct Traces {
    /// Shows the whole session.
    pub whole: bool,
    /// Failures are grouped.
    pub grouped: bool,
    /// The typed filter.
    pub filter: String,
    /// The filter is being typed.
    pub filtering: bool,
    /// The lines.
    pub rows: Vec<Row>,
    /// Links between calls, by their indices in the session.
    pub links: Vec<Link>,
    /// Calls before the filter, and failures among them.
    pub counts: (usize, usize),
    /// The selected line.
    pub cursor: usize,
    /// Only the selected call is shown, in full.
    pub opened: bool,
    /// Scrolled rows of the call.
    pub scroll: usize,
    /// The total rows and the visible rows, when last drawn.
    pub seen: (usize, usize),
    /// Rows of the list when last drawn.
    pub page: usize,
    /// Loaded texts, by the call's id.
    pub texts: HashMap<String, Texts>,
    /// The call to keep selected.
    chosen: Option<(RunId, String)>,
    stamp: Option<Stamp>,
}

impl Traces {
    /// The screen with a call selected, by its index in the session.
    #[must_use]
    pub fn on(session: Option<&Session>, place: Option<usize>) -> Self {
        let trace = session.zip(place).and_then(|(session, place)| session.traces.get(place));
        Self { chosen: trace.map(|trace| (trace.run, trace.call_id.clone())), ..Self::default() }
    }

    /// Makes the list again if something changed.
    pub fn sync(&mut self, session: &Session, conversation: &Conversation, live: Option<RunId>) {
        let tip = conversation.path.last().map(|slot| session.tree.head(*slot).id);
        let (whole, grouped, filter) = (self.whole, self.grouped, self.filter.clone());
        let stamp = Stamp { revision: session.trace_revision, tip, live, whole, grouped, filter };
        if self.stamp.as_ref() == Some(&stamp) {
            return;
        }
        self.choose(session);
        let first = self.stamp.replace(stamp).is_none();
        let here = |session: &Session| shown(session, conversation, live);
        let mut all: Vec<usize> = if whole { (0..session.traces.len()).collect() } else { here(session) };
        let wanted = self.chosen.clone();
        let is = |place: &usize| wanted.as_ref().is_some_and(|known| same(&session.traces[*place], known));
        if first && wanted.is_some() && !all.iter().any(is) {
            // A call selected elsewhere is of another branch.
            self.whole = true;
            self.stamp = None;
            all = (0..session.traces.len()).collect();
        }
        self.list(session, &all);
        let at = self.rows.iter().position(|row| matches!(row, Row::Call(place) if is(place)));
        let cursor = at.unwrap_or(self.cursor).min(self.rows.len().saturating_sub(1));
        self.cursor = cursor;
        if matches!(self.rows.get(cursor), Some(Row::Kind(..))) {
            self.step(1);
        }
    }

    fn list(&mut self, session: &Session, all: &[usize]) {
        let traces: Vec<&ToolTrace> = all.iter().map(|place| &session.traces[*place]).collect();
        let place = |at: usize| all[at];
        let links = if self.whole {
            let below = |above: &ToolTrace, below: &ToolTrace| after(session, above, below);
            resolution::links(&traces, below)
        } else {
            resolution::links(&traces, |_, _| true)
        };
        self.links = links.into_iter().map(|l| Link { failed: place(l.failed), fixed: place(l.fixed), ..l }).collect();
        self.counts = (traces.len(), traces.iter().filter(|trace| resolution::failed(trace)).count());
        let sieve = TraceFilter::read(&self.filter);
        let lets = |at: &usize| sieve.matches(traces[*at], self.fix(place(*at)).is_some());
        self.rows = if self.grouped {
            let mut rows = Vec::new();
            for group in resolution::groups(&traces) {
                let calls: Vec<usize> = group.calls.iter().filter(|at| lets(at)).map(|at| place(*at)).collect();
                if !calls.is_empty() {
                    let fixed = calls.iter().filter(|place| self.fix(**place).is_some()).count();
                    rows.push(Row::Kind(group.tool, group.kind, calls.len(), fixed));
                    rows.extend(calls.into_iter().map(Row::Call));
                }
            }
            rows
        } else {
            (0..traces.len()).rev().filter(lets).map(|at| Row::Call(place(at))).collect()
        };
    }

    /// Remembers the selected call.
    fn choose(&mut self, session: &Session) {
        if let Some(trace) = self.selected(session) {
            self.chosen = Some((trace.run, trace.call_id.clone()));
        }
    }

    /// The link from a failure to what fixed it.
    #[must_use]
    pub fn fix(&self, place: usize) -> Option<&Link> {
        self.links.iter().find(|link| link.failed == place)
    }

    /// The failures that a call resolved, the newest first.
    pub fn fixes(&self, place: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().rev().filter(move |link| link.fixed == place)
    }

    /// The index of the selected call in the session.
    #[must_use]
    pub fn place(&self) -> Option<usize> {
        match self.rows.get(self.cursor) {
            Some(Row::Call(place)) => Some(*place),
            _ => None,
        }
    }

    /// The selected call.
    #[must_use]
    pub fn selected<'a>(&self, session: &'a Session) -> Option<&'a ToolTrace> {
        session.traces.get(self.place()?)
    }

    /// Selects a call, if it is listed.
    pub fn select(&mut self, place: usize) -> bool {
        let at = self.rows.iter().position(|row| *row == Row::Call(place));
        if let Some(at) = at {
            (self.cursor, self.scroll) = (at, 0);
        }
        at.is_some()
    }

    /// Moves the selection past headings; if one call is shown alone, scrolls it.
    pub fn step(&mut self, by: i64) {
        if self.opened {
            return self.roll(by);
        }
        let last = i64::try_from(self.rows.len().saturating_sub(1)).unwrap_or(0);
        let here = i64::try_from(self.cursor).unwrap_or(0);
        let mut to = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
        let call = |at: usize| matches!(self.rows.get(at), Some(Row::Call(_)));
        if !call(to) {
            let down = (to..self.rows.len()).find(|at| call(*at));
            let up = (0..to).rev().find(|at| call(*at));
            to = if by < 0 { up.or(down) } else { down.or(up) }.unwrap_or(to);
        }
        (self.cursor, self.scroll) = (to, 0);
    }

    /// Shows the selected call alone, or the list again; first ends typing the filter.
    pub fn enter(&mut self) {
        if self.filtering {
            self.filtering = false;
        } else if self.place().is_some() {
            (self.opened, self.scroll) = (!self.opened, 0);
        }
    }

    /// Closes what is open on the screen; false if nothing is.
    pub fn leave(&mut self) -> bool {
        let was = self.filtering || self.opened || !self.filter.is_empty();
        if self.filtering || !self.opened {
            self.filter.clear();
        }
        (self.filtering, self.opened, self.scroll) = (false, false, 0);
        was
    }

    /// Scrolls the displayed call.
    pub fn roll(&mut self, by: i64) {
        let last = i64::try_from(self.seen.0.saturating_sub(self.seen.1)).unwrap_or(0);
        let here = i64::try_from(self.scroll).unwrap_or(0);
        self.scroll = usize::try_from(here.saturating_add(by).clamp(0, last)).unwrap_or(0);
    }
}

fn same(trace: &ToolTrace, known: &(RunId, String)) -> bool {
    trace.run == known.0 && trace.call_id == known.1
}

/// Whether a call is below another in the tree; calls of one answer follow each other.
fn after(session: &Session, above: &ToolTrace, below: &ToolTrace) -> bool {
    let slot = |trace: &ToolTrace| trace.node.and_then(|node| session.tree.slot(node));
    match (slot(above), slot(below)) {
        (Some(above), Some(below)) => session.tree.contains(above, below),
        _ => above.run == below.run,
    }
}

/// The calls of the displayed path: calls with results on it, running calls, and reruns of them.
#[must_use]
pub fn shown(session: &Session, conversation: &Conversation, live: Option<RunId>) -> Vec<usize> {
    let on_path = |trace: &ToolTrace| {
        let slot = trace.node.and_then(|node| session.tree.slot(node));
        slot.is_some_and(|slot| {
            let depth = usize::try_from(session.tree.depth(slot)).unwrap_or(usize::MAX);
            conversation.path.get(depth) == Some(&slot)
        })
    };
    let first = |trace: &ToolTrace| {
        let call = trace.more.again.as_deref()?;
        session.traces.iter().find(|known| known.run == trace.run && known.call_id == call)
    };
    let here = |trace: &ToolTrace| {
        on_path(trace)
            || first(trace).is_some_and(on_path)
            || (trace.node.is_none() && trace.more.again.is_none() && live == Some(trace.run))
    };
    (0..session.traces.len()).filter(|place| here(&session.traces[*place])).collect()
}

/// For each result on the path that failed or resolved a failure, a short text about the other call.
#[must_use]
pub fn told(session: &Session, conversation: &Conversation) -> HashMap<NodeId, (bool, String)> {
    let here = shown(session, conversation, None);
    let traces: Vec<&ToolTrace> = here.iter().map(|place| &session.traces[*place]).collect();
    let mut told: HashMap<NodeId, (bool, String)> = HashMap::new();
    let name = |trace: &ToolTrace| format!("{} {}", trace.title(), resolution::argument(&trace.args));
    for link in resolution::links(&traces, |_, _| true) {
        let (failed, fixed) = (traces[link.failed], traces[link.fixed]);
        let since = match link.between.as_slice() {
            [] => String::new(),
            [one] => format!(" after {} changed", one.rsplit('/').next().unwrap_or(one)),
            more => format!(" after {} files changed", more.len()),
        };
        let same = resolution::resolves(failed, fixed) == Some(LinkKind::Same);
        if let Some(node) = failed.node {
            let by = if same { "worked later".to_owned() } else { format!("fixed by {}", name(fixed)) };
            told.insert(node, (false, format!("{by}{since}")));
        }
        if let Some(node) = fixed.node {
            let one = if same { "resolves the failure".to_owned() } else { format!("resolves {}", name(failed)) };
            told.entry(node).and_modify(|known| known.1 = many(&known.1)).or_insert((true, one));
        }
    }
    told
}

/// `resolves 2 failures`, made from `resolves …` or from a lower count.
fn many(known: &str) -> String {
    let words: Vec<&str> = known.split(' ').collect();
    let count = match words.as_slice() {
        ["resolves", count, "failures"] => count.parse().unwrap_or(1_usize),
        _ => 1,
    };
    format!("resolves {} failures", count + 1)
}

/// A fence of backticks that does not occur in a text.
#[must_use]
pub fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// The purpose of a request about a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TracePending {
    /// To show the stored data of the call with this id.
    Show(String),
    /// To copy its result.
    Copy(String),
}
