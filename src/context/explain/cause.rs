//! Determines which act caused a difference between two plans: a person's decision, a lease, the budget, the mode, the
//! window, and so on. The cause is derived from the reasons in both plans, the item's transitions, and the operations
//! between the two calls.
//! Not for: finding the differences (`domain::planning::row_matching`) or collecting the events between the calls
//! (`engine`).

use super::transition;
use crate::domain::base::Hash;
use crate::domain::call::tokens::grouped;
use crate::domain::conversation::{Atom, Change, Operation, Transition};
use crate::domain::planning::row_matching::{self, subject};
use crate::domain::planning::{
    Cause, CauseKind, ContextPlan, DiffKind, Form, Item, ItemDiff, ItemPlace, Reason, Row, RowKind, Subject, UsualCause,
};

/// The events between two calls that affect the later call.
#[derive(Clone, Copy)]
pub struct ChangesBetweenCalls<'a> {
    /// Transitions of items, oldest first, each with the atom that names the item in plans.
    pub steps: &'a [(Atom, Transition)],
    /// Operations, oldest first.
    pub ops: &'a [Operation],
    /// Returns whether the message with this key is on the later call's path.
    pub on_path: &'a dyn Fn(Hash) -> bool,
    /// The name of the later call's branch.
    pub name: &'a str,
}

/// Maximum transitions reported for one difference; the newest are reported.
const STEPS: usize = 2;

/// Sets the causes of every difference.
pub fn set_causes(
    deltas: &mut [ItemDiff],
    before: &ContextPlan,
    after: &ContextPlan,
    between: &ChangesBetweenCalls<'_>,
) {
    for delta in deltas {
        delta.causes = causes(delta, before, after, between);
    }
}

/// Returns the causes of one difference, most direct first.
pub fn causes(
    delta: &ItemDiff,
    before: &ContextPlan,
    after: &ContextPlan,
    between: &ChangesBetweenCalls<'_>,
) -> Vec<Cause> {
    let case = Case { delta, before, after, between };
    let mut found = case.steps();
    if let Some(cause) = case.by_reason().filter(|cause| !found.iter().any(|known| known.by == cause.by)) {
        found.push(cause);
    }
    found
}

struct Case<'a> {
    delta: &'a ItemDiff,
    before: &'a ContextPlan,
    after: &'a ContextPlan,
    between: &'a ChangesBetweenCalls<'a>,
}

impl Case<'_> {
    fn reason(&self) -> Option<&Reason> {
        self.delta.after.as_ref().map(|place| &place.reason)
    }

    fn reason_before(&self) -> Option<&Reason> {
        self.delta.before.as_ref().map(|place| &place.reason)
    }

    /// Returns the transitions of the item, if its mark decided one of the two places.
    fn steps(&self) -> Vec<Cause> {
        if ![self.reason(), self.reason_before()].into_iter().flatten().any(depends_on_mark) {
            return Vec::new();
        }
        let about = subject(&self.delta.atom);
        let own = self.between.steps.iter().filter(|(atom, _)| subject(atom) == about || self.of_message(atom));
        own.rev().take(STEPS).map(|(_, step)| transition::cause(step)).collect()
    }

    /// Returns whether the item is the card or turn that contains the message `atom`.
    fn of_message(&self, atom: &Atom) -> bool {
        let Atom::Message { node } = atom else { return false };
        let rows = self.after.rows.iter().chain(&self.before.rows);
        rows.filter(|row| subject(&row.atom) == subject(&self.delta.atom))
            .any(|row| row.items.iter().any(|item| item.key == *node))
    }

    fn by_reason(&self) -> Option<Cause> {
        match (&self.delta.after, self.delta.kind()) {
            (None, _) => Some(self.removed()),
            (Some(after), DiffKind::Left) => Some(self.left(after)),
            (Some(after), DiffKind::Entered) => self.entered(after),
            (Some(after), DiffKind::Changed | DiffKind::Shortened | DiffKind::Lengthened) => Some(self.reshaped(after)),
            (Some(after), DiffKind::Moved | DiffKind::Reason) => self.entered(after).or_else(|| self.setting()),
        }
    }

    /// Returns the cause when the item no longer has a row.
    fn removed(&self) -> Cause {
        let key = match self.delta.atom {
            Atom::Turn { user: key, .. }
            | Atom::Episode { call: key, .. }
            | Atom::Message { node: key }
            | Atom::Preamble { first: key } => Some(key),
            Atom::Section { .. } | Atom::Range { .. } => None,
        };
        if key.is_some_and(|key| !(self.between.on_path)(key)) {
            let words = format!("This item is not on branch {}.", self.between.name);
            let moved = |change: &Change| matches!(change, Change::Head { .. } | Change::Forked { .. });
            return match self.op(moved) {
                Some(op) => Cause { by: CauseKind::Branch, words: format!("{words} ({})", op.what), at: Some(op.at) },
                None => Cause { by: CauseKind::Branch, words, at: None },
            };
        }
        match (self.delta.row, self.reason_before()) {
            (_, Some(Reason::Retrieved { .. } | Reason::ErrorBefore | Reason::ErrorResolved)) => {
                or_else(self.crowded_out(), CauseKind::Retrieval, "This item is no longer among the best matches.")
            }
            (RowKind::Memory, _) => {
                or_else(self.memory_op(), CauseKind::Retrieval, "The memory does not match this message.")
            }
            (RowKind::Rules | RowKind::Skills | RowKind::Module, _) => {
                self.changed_mode().unwrap_or_else(|| self.project_text_removed())
            }
            (RowKind::Code, _) => {
                let setting = self.crowded_out().or_else(|| self.changed_mode());
                or_else(setting, CauseKind::Retrieval, "The code is no longer among the best matches.")
            }
            (RowKind::Note, _) => or_else(self.mark_op(), CauseKind::You, "The note was removed."),
            (RowKind::Quote, _) => {
                plain(CauseKind::Turn, "The new message is not a reply, or replies to another message.")
            }
            (RowKind::Search, _) => {
                or_else(self.crowded_out(), CauseKind::Retrieval, "The search found nothing for this message.")
            }
            (RowKind::Summary, _) => self.summary_op("The summary is no longer sent."),
            (RowKind::Text | RowKind::State, _) => {
                or_else(self.setting(), CauseKind::Turn, "The later call does not contain this text.")
            }
            _ => plain(CauseKind::Turn, "This item is part of another row of the later call."),
        }
    }

    /// Returns why the item is left out.
    fn left(&self, after: &ItemPlace) -> Cause {
        let (facts, sentence) = (after.reason.facts(), after.reason.sentence());
        match facts.cause.filter(|_| facts.left_out) {
            Some(_) if after.reason == Reason::OtherLane => {
                plain(CauseKind::You, &format!("{sentence} The call belongs to another message."))
            }
            cause => self.usual(cause.unwrap_or(UsualCause::Setting(CauseKind::Turn)), &sentence),
        }
    }

    /// Returns why the item is sent, or sent in another section.
    fn entered(&self, after: &ItemPlace) -> Option<Cause> {
        let (facts, before) = (after.reason.facts(), self.reason_before());
        if facts.left_out {
            return None;
        }
        let in_window = facts.cause == Some(UsualCause::Setting(CauseKind::Window));
        match (&after.reason, before) {
            (Reason::Open, _) if self.delta.before.is_none() => {
                Some(plain(CauseKind::You, "Your message for this call."))
            }
            (Reason::Recent, None | Some(Reason::Open)) => {
                Some(plain(CauseKind::Turn, "This message has been answered and is now a turn in the window."))
            }
            (_, Some(Reason::UserExcluded { .. })) if in_window => {
                Some(or_else(self.mark_op(), CauseKind::You, "Its exclusion was removed."))
            }
            (_, Some(Reason::Superseded { .. })) if in_window => {
                Some(self.summary_op("The summary that replaced it was undone."))
            }
            (_, Some(before)) if in_window && depends_on_mark(before) => {
                Some(plain(CauseKind::Lease, "This item was marked before and is now included automatically."))
            }
            _ => facts.cause.map(|cause| self.usual(cause, &after.reason.sentence())),
        }
    }

    /// Returns the cause that is usual for a reason with this sentence.
    fn usual(&self, cause: UsualCause, sentence: &str) -> Cause {
        let (act, kind) = match cause {
            UsualCause::Summary => return self.summary_op(sentence),
            UsualCause::Budget => return self.by_budget(sentence),
            UsualCause::Window => return self.by_window(sentence),
            UsualCause::ProjectText => {
                let act = self.mark_op().or_else(|| self.changed_mode());
                return act.unwrap_or_else(|| self.project_text_added());
            }
            UsualCause::Kind(kind) => (None, kind),
            UsualCause::Setting(kind) => (self.setting(), kind),
            UsualCause::Mark => (self.mark_op(), CauseKind::You),
            UsualCause::OwnSetting(kind) => (self.setting_op(), kind),
            UsualCause::State => (self.state_op(), CauseKind::Model),
            UsualCause::Memory => (self.memory_op(), CauseKind::Retrieval),
            UsualCause::Mode => (self.changed_mode(), CauseKind::Retrieval),
            UsualCause::Room => (self.changed_room(), CauseKind::Retrieval),
        };
        or_else(act, kind, sentence)
    }

    /// Returns why the item is sent with another text or in another form.
    #[deny(clippy::wildcard_enum_match_arm, reason = "a new kind of row must not compile without its cause")]
    fn reshaped(&self, after: &ItemPlace) -> Cause {
        match self.delta.row {
            RowKind::State => or_else(self.state_op(), CauseKind::Model, "The model wrote a new state block."),
            RowKind::Summary => self.summary_op("Another summary is sent."),
            RowKind::Search if matches!(after.reason, Reason::Searched { .. }) => {
                plain(CauseKind::Retrieval, "The search found other messages.")
            }
            RowKind::Text => or_else(self.setting_op(), CauseKind::Policy, "The text was changed in the settings."),
            RowKind::Rules => plain(CauseKind::You, "Its file changed."),
            RowKind::Skills => plain(CauseKind::You, "A skill was added, removed, or described differently."),
            RowKind::Module => match (&after.reason, self.reason_before()) {
                (Reason::Module { staleness, .. }, Some(Reason::Module { staleness: before, .. }))
                    if before != staleness && staleness != "fresh" =>
                {
                    plain(CauseKind::You, "Files that the summary mentions were changed or added.")
                }
                _ => plain(CauseKind::You, "The summary was rewritten or edited."),
            },
            RowKind::Turn | RowKind::Preamble if after.reason == Reason::Open => {
                plain(CauseKind::Turn, "The open turn grew.")
            }
            RowKind::Code
            | RowKind::Note
            | RowKind::Preamble
            | RowKind::Turn
            | RowKind::Card
            | RowKind::Quote
            | RowKind::Range
            | RowKind::Message
            | RowKind::Part
            | RowKind::Search
            | RowKind::Memory
            | RowKind::Request => self.resized(),
        }
    }

    /// Returns why more or less of the item is sent.
    fn resized(&self) -> Cause {
        if matches!(self.reason_before(), Some(Reason::Open)) {
            plain(CauseKind::Turn, "This message has been answered: the whole turn is sent.")
        } else if self.before.model != self.after.model {
            or_else(self.setting(), CauseKind::OtherModel, "Another model counts its tokens differently.")
        } else if self.delta.row == RowKind::Code {
            self.reshaped_code()
        } else if self.has_shorter_results() {
            self.by_window("Its tool results are shortened to make room for newer turns.")
        } else {
            let shorter = self.delta.kind() == DiffKind::Shortened;
            let words = if shorter { "Less of this item is sent." } else { "More of this item is sent." };
            or_else(self.mark_op().or_else(|| self.setting()), CauseKind::Window, words)
        }
    }

    /// Returns the cause when code is sent in both calls with different text.
    fn reshaped_code(&self) -> Cause {
        let file = |plan| self.row_in(plan).and_then(|row| row.source.code.as_ref()).map(|code| code.file);
        if file(self.before) != file(self.after) {
            return plain(CauseKind::You, "Its file changed.");
        }
        let words = match (self.reason(), self.delta.kind()) {
            (Some(Reason::CodeMap), _) => "The code map was rebuilt.",
            (_, DiffKind::Shortened) => "A shorter piece of this code is sent, so that more results fit.",
            (_, DiffKind::Lengthened) => "A longer piece of this code is sent.",
            _ => "Another piece of this code is sent.",
        };
        or_else(self.changed_room(), CauseKind::Retrieval, words)
    }

    /// Returns whether tool results of the row are sent shorter than before.
    fn has_shorter_results(&self) -> bool {
        let shortened = |form: Form| matches!(form, Form::Cut(_) | Form::Elided | Form::Gone);
        let forms = |plan| self.row_in(plan).map(|row| row.items.as_slice()).unwrap_or_default();
        let old = |item: &Item| forms(self.before).iter().find(|old| old.key == item.key).map(|old| old.form);
        let mut new = forms(self.after).iter().filter(|item| shortened(item.form));
        self.delta.kind() == DiffKind::Shortened && new.any(|item| old(item) != Some(item.form))
    }

    /// Returns the item's own row in one of the two plans.
    fn row_in<'a>(&self, plan: &'a ContextPlan) -> Option<&'a Row> {
        row_matching::row(plan, &self.delta.atom)
    }

    /// Returns the cause when a project's own text is now sent and no person marked it.
    fn project_text_added(&self) -> Cause {
        match (self.reason_before(), self.delta.row) {
            (Some(Reason::UserExcluded { .. }), _) => plain(CauseKind::You, "Its exclusion was removed."),
            (Some(Reason::SwitchedOff), _) => plain(CauseKind::You, "The settings include it again."),
            (Some(Reason::Budget { .. }), _) => or_else(self.setting(), CauseKind::Budget, "This item fits now."),
            (Some(Reason::BelowThreshold | Reason::Unrelated | Reason::Allowance { .. }), _) => plain(
                CauseKind::Retrieval,
                "This summary is closer to the named or touched files than other summaries.",
            ),
            (_, RowKind::Skills) => plain(CauseKind::You, "There are skills now, and tools to load them."),
            (_, RowKind::Module) => plain(CauseKind::You, "The summary was written."),
            _ => plain(CauseKind::Turn, "Its file was added, or a file near it is named or touched now."),
        }
    }

    /// Returns the cause when a project's own text no longer has a row.
    fn project_text_removed(&self) -> Cause {
        match self.delta.row {
            RowKind::Skills => plain(CauseKind::You, "There are no skills anymore, or no tool to load them."),
            RowKind::Module => plain(CauseKind::You, "The summary was undone."),
            _ => plain(CauseKind::Turn, "Its file was deleted, or no file near it is named or touched anymore."),
        }
    }

    fn by_budget(&self, sentence: &str) -> Cause {
        let (old, new) = (&self.before.budget, &self.after.budget);
        if new.without_results() < old.without_results()
            || self.before.model != self.after.model
            || self.before.policy != self.after.policy
        {
            return or_else(self.setting(), CauseKind::Budget, sentence);
        }
        let why = if new.results < old.results {
            "The tool results of the earlier call no longer add to the budget."
        } else {
            "The text that precedes this item in the request grew."
        };
        plain(CauseKind::Budget, &format!("{sentence} {why}"))
    }

    fn by_window(&self, sentence: &str) -> Cause {
        or_else(self.setting(), CauseKind::Window, &format!("{sentence} Newer turns were added."))
    }

    /// Returns the most important setting that differs, with the act that changed it. Results of the turn's own tools
    /// change the budget without a setting.
    fn setting(&self) -> Option<Cause> {
        let (old, new) = (self.before, self.after);
        let differs = |name: &str, a: &str, b: &str| format!("The {name} is {b}; it was {a}.");
        let (by, words) = if old.mode != new.mode {
            (CauseKind::Mode, differs("mode", old.mode.title(), new.mode.title()))
        } else if old.policy != new.policy || old.policy_version != new.policy_version {
            let same = old.policy == new.policy;
            let version = |plan: &ContextPlan| if same { format!(" v{}", plan.policy_version) } else { String::new() };
            let named = |plan: &ContextPlan| format!("{}{}", plan.policy, version(plan));
            (CauseKind::Policy, differs("policy", &named(old), &named(new)))
        } else if old.model != new.model {
            (CauseKind::OtherModel, differs("model", &old.model, &new.model))
        } else if old.budget.without_results() != new.budget.without_results() {
            let budget = |plan: &ContextPlan| grouped(plan.budget.shown_without_results().into());
            (CauseKind::Budget, differs("budget", &budget(old), &budget(new)))
        } else if old.layout != new.layout {
            (CauseKind::Policy, differs("layout", old.layout.name(), new.layout.name()))
        } else {
            return None;
        };
        let at = self.setting_op().and_then(|cause| cause.at);
        Some(Cause { by, words, at })
    }

    /// Returns the setting that changed the tokens for retrieved items, if these decided: a smaller budget leaves out
    /// or shortens an item, and a larger one includes an item that had no room. A changed mode is always a cause.
    fn changed_room(&self) -> Option<Cause> {
        let (old, new) = (self.before.budget.without_results(), self.after.budget.without_results());
        let decided = match self.delta.kind() {
            DiffKind::Left | DiffKind::Shortened => new < old,
            DiffKind::Entered => new > old && matches!(self.reason_before(), Some(Reason::Allowance { .. })),
            DiffKind::Moved | DiffKind::Lengthened | DiffKind::Changed | DiffKind::Reason => false,
        };
        if decided { self.setting() } else { self.changed_mode() }
    }

    /// Returns the setting that leaves room for fewer retrieved items, if the later call left some of them out for lack
    /// of room: only the best of these have rows.
    fn crowded_out(&self) -> Option<Cause> {
        let is_cut = |row: &Row| {
            let is_retrieved = matches!(row.kind, RowKind::Card | RowKind::Code | RowKind::Search);
            is_retrieved && matches!(row.reason, Reason::Allowance { .. } | Reason::Budget { .. })
        };
        let is_smaller = self.after.budget.without_results() < self.before.budget.without_results();
        (is_smaller && self.after.excluded().any(is_cut)).then(|| self.setting()).flatten()
    }

    fn changed_mode(&self) -> Option<Cause> {
        (self.before.mode != self.after.mode).then(|| self.setting()).flatten()
    }

    /// Returns the newest operation with a matching change.
    fn op(&self, like: impl Fn(&Change) -> bool) -> Option<&Operation> {
        self.between.ops.iter().rev().find(|op| op.changes.iter().any(&like))
    }

    fn by_op(&self, by: CauseKind, like: impl Fn(&Change) -> bool) -> Option<Cause> {
        let op = self.op(like)?;
        let undone = if op.undone { " (undone since)" } else { "" };
        Some(Cause { by, words: format!("You: {}{undone}.", op.what), at: Some(op.at) })
    }

    fn mark_op(&self) -> Option<Cause> {
        let about = subject(&self.delta.atom);
        self.by_op(CauseKind::You, |change| match change {
            Change::Mark { target, .. } => {
                subject(target) == about && !matches!(about, Subject::Range(_)) || self.of_message(target)
            }
            _ => false,
        })
    }

    fn memory_op(&self) -> Option<Cause> {
        let atom = self.delta.atom;
        self.by_op(CauseKind::You, |change| match change {
            Change::Memory { before, after } => before.iter().chain(after).any(|memory| memory.atom() == atom),
            _ => false,
        })
    }

    fn state_op(&self) -> Option<Cause> {
        self.by_op(CauseKind::You, |change| matches!(change, Change::State { .. }))
    }

    fn setting_op(&self) -> Option<Cause> {
        self.by_op(CauseKind::You, |change| matches!(change, Change::Overrides { .. }))
    }

    fn summary_op(&self, sentence: &str) -> Cause {
        let op = self.op(|change| matches!(change, Change::Summaries { .. }));
        let words = op.map_or_else(|| sentence.to_owned(), |op| format!("{sentence} ({})", op.what));
        Cause { by: CauseKind::Summary, words, at: op.map(|op| op.at) }
    }
}

fn plain(by: CauseKind, words: &str) -> Cause {
    Cause { by, words: words.to_owned(), at: None }
}

fn or_else(found: Option<Cause>, by: CauseKind, words: &str) -> Cause {
    found.unwrap_or_else(|| plain(by, words))
}

fn depends_on_mark(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Sticky
            | Reason::Leased { .. }
            | Reason::Ephemeral
            | Reason::IncludedOnce
            | Reason::UserExcluded { .. }
            | Reason::TtlExpired
            | Reason::LeaseCap { .. }
            | Reason::SuggestedByModel
            | Reason::SuggestedByRenewals { .. }
            | Reason::Memory { .. }
    )
}
