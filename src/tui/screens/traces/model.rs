//! State of the tool calls screen: the listed calls, their grouping, and the links from failures to fixes.
//! Not for: the keys (`update`) or drawing (`view`).

use crate::domain::base::{Hash, NodeId, RunId};
use crate::domain::tool::resolution;
use crate::domain::tool::{FileChange, Link, ToolTrace, TraceFilter};
use crate::tui::chat::model::conversation::Conversation;
use crate::tui::model::list::{Scroll, nearest, shift};
use crate::tui::model::session::Session;
use crate::tui::model::tool_calls;
use crate::tui::model::typed_line::TypedLine;
use std::collections::HashMap;
use std::sync::Arc;

/// One line of the list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// A call, by its index among the session's calls.
    Call(usize),
    /// Heading of a kind of failure: its tool, its error, how many calls, and how many of them were fixed.
    Kind(String, String, usize, usize),
}

/// The stored texts of a call.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// The result as sent to the model.
    pub result: Option<(Hash, Arc<str>)>,
    /// The full result.
    pub full: Option<(Hash, Arc<str>)>,
    /// The files that the call changed.
    pub files: Vec<FileChange>,
}

/// The inputs of the list; the list is rebuilt when they change.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct ListBasis {
    revision: u64,
    tip: Option<NodeId>,
    live: Option<RunId>,
    whole: bool,
    grouped: bool,
    filter: String,
}

/// The tool calls screen.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Whether the calls of the whole session are listed.
    pub whole: bool,
    /// Whether failures are listed in groups.
    pub grouped: bool,
    pub filter: TypedLine,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// Lines of the list.
    pub rows: Vec<Row>,
    /// Links from failures to fixes, by indices among the session's calls.
    pub links: Vec<Link>,
    /// Number of calls before filtering, and of failures among them.
    pub counts: (usize, usize),
    /// Index of the line under the cursor.
    pub cursor: usize,
    /// Whether the selected call is shown alone.
    pub opened: bool,
    /// Whether the bytes and the id of the selected call are shown.
    pub details: bool,
    /// The scroll position of the call.
    pub scroll: Scroll,
    /// Height of the list when last drawn, in rows.
    pub page: usize,
    /// Texts that were loaded, by the call's id.
    pub texts: HashMap<String, Texts>,
    /// The run and id of the call that the cursor stays on.
    chosen: Option<(RunId, String)>,
    list_basis: Option<ListBasis>,
}

impl Traces {
    /// Creates the screen with a call selected.
    pub fn on(trace: Option<&ToolTrace>) -> Self {
        Self { chosen: trace.map(|trace| (trace.run, trace.call_id.clone())), ..Self::default() }
    }

    /// Rebuilds the list if any of its inputs changed.
    pub fn sync(&mut self, session: &Session, conversation: &Conversation, live: Option<RunId>) {
        let tip = conversation.path.last().map(|slot| session.tree.head(*slot).id);
        let (whole, grouped, filter) = (self.whole, self.grouped, self.filter.to_string());
        let list_basis = ListBasis { revision: session.trace_revision, tip, live, whole, grouped, filter };
        if self.list_basis.as_ref() == Some(&list_basis) {
            return;
        }
        self.choose(session);
        let first = self.list_basis.replace(list_basis).is_none();
        let every = || (0..session.traces.len()).collect::<Vec<usize>>();
        let mut all = if whole { every() } else { tool_calls::shown(session, conversation, live) };
        let wanted = self.chosen.clone();
        let is = |place: &usize| wanted.as_ref().is_some_and(|known| same(&session.traces[*place], known));
        if first && wanted.is_some() && !all.iter().any(is) {
            // The call selected before is on another branch.
            self.whole = true;
            self.list_basis = None;
            all = every();
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
        let filter = TraceFilter::read(&self.filter);
        let matches = |at: &usize| filter.matches(traces[*at], self.fix(place(*at)).is_some());
        self.rows = if self.grouped {
            let mut rows = Vec::new();
            for group in resolution::groups(&traces) {
                let calls: Vec<usize> = group.calls.iter().filter(|at| matches(at)).map(|at| place(*at)).collect();
                if !calls.is_empty() {
                    let fixed = calls.iter().filter(|place| self.fix(**place).is_some()).count();
                    rows.push(Row::Kind(group.tool, group.kind, calls.len(), fixed));
                    rows.extend(calls.into_iter().map(Row::Call));
                }
            }
            rows
        } else {
            (0..traces.len()).rev().filter(matches).map(|at| Row::Call(place(at))).collect()
        };
    }

    /// Stores the call under the cursor.
    fn choose(&mut self, session: &Session) {
        if let Some(trace) = self.selected(session) {
            self.chosen = Some((trace.run, trace.call_id.clone()));
        }
    }

    /// The link from a failure to its fix.
    pub fn fix(&self, place: usize) -> Option<&Link> {
        self.links.iter().find(|link| link.failed == place)
    }

    /// The links to the failures that a call fixed, newest first.
    pub fn fixes(&self, place: usize) -> impl Iterator<Item = &Link> {
        self.links.iter().rev().filter(move |link| link.fixed == place)
    }

    /// Index of the selected call among the session's calls.
    pub fn place(&self) -> Option<usize> {
        if let Row::Call(place) = self.rows.get(self.cursor)? { Some(*place) } else { None }
    }

    /// The selected call.
    pub fn selected<'a>(&self, session: &'a Session) -> Option<&'a ToolTrace> {
        session.traces.get(self.place()?)
    }

    /// Selects a call. Returns false if it is not listed.
    pub fn select(&mut self, place: usize) -> bool {
        let at = self.rows.iter().position(|row| *row == Row::Call(place));
        if let Some(at) = at {
            (self.cursor, self.scroll.top) = (at, 0);
        }
        at.is_some()
    }

    /// Moves the cursor by `by` lines, skipping headings; if a call is shown alone, scrolls it.
    pub fn step(&mut self, by: i64) {
        if self.opened {
            return self.scroll.by(by);
        }
        let to = shift(self.cursor, by, self.rows.len().saturating_sub(1));
        let to = nearest(to, self.rows.len(), by, |at| matches!(self.rows[at], Row::Call(_)));
        (self.cursor, self.scroll.top) = (to, 0);
    }

    /// Handles Enter: ends typing the filter, or toggles between the selected call and the list.
    pub fn enter(&mut self) {
        if self.filtering {
            self.filtering = false;
        } else if self.place().is_some() {
            (self.opened, self.scroll.top) = (!self.opened, 0);
        }
    }

    /// Closes the shown call, or clears the filter. Returns false if there was neither.
    pub fn leave(&mut self) -> bool {
        let was = self.filtering || self.opened || !self.filter.is_empty();
        if self.filtering || !self.opened {
            self.filter.clear();
        }
        (self.filtering, self.opened, self.scroll.top) = (false, false, 0);
        was
    }
}

fn same(trace: &ToolTrace, known: &(RunId, String)) -> bool {
    trace.run == known.0 && trace.call_id == known.1
}

/// Whether a call is below another in the tree; calls of one answer count as below each other.
fn after(session: &Session, above: &ToolTrace, below: &ToolTrace) -> bool {
    let slot = |trace: &ToolTrace| trace.node.and_then(|node| session.tree.slot(node));
    match (slot(above), slot(below)) {
        (Some(above), Some(below)) => session.tree.contains(above, below),
        _ => above.run == below.run,
    }
}

/// The purpose of a request about a tool call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TracePending {
    /// To show all stored data of the call with this id.
    Show(String),
    /// To copy its result.
    Copy(String),
}
