//! The differences between two plans: rows that entered, left, moved, changed in length, or have another reason.
//! Not for: matching rows (`row_matching`), their causes (`context::explain::cause`), or loading the plans (`engine`).

use super::plan::{Form, Row, RowKind};
use super::policy::Section;
use super::reason::Reason;
use super::row_matching::same_reason;
use crate::domain::base::hash::Hash;
use crate::domain::base::ids::{BranchId, RunId};
use crate::domain::base::named_enum::named_enum;
use crate::domain::call::tokens::counted;
use crate::domain::conversation::mark::Atom;
use crate::domain::conversation::transition::ItemState;
use serde::Serialize;

named_enum! {
    /// How a row differs between two plans, in display order.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, Serialize)]
    pub enum DiffKind {
        /// The row is included now and was not before.
        Entered = "entered" => "added",
        /// The row was included before and is not now.
        Left = "left" => "left out",
        /// The row is in another section, or its order among the other rows changed.
        Moved = "moved" => "moved",
        /// The row is sent with fewer tokens.
        Shortened = "shortened" => "shortened",
        /// The row is sent with more tokens.
        Lengthened = "lengthened" => "lengthened",
        /// The row has another text of the same length.
        Changed = "changed" => "different text",
        /// The row is included or left out for another reason.
        Reason = "reason" => "different reason",
    }
    /// Returns the title.
    pub fn title
}

/// The place of an item in a plan.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ItemPlace {
    #[serde(rename = "goes")]
    pub included: bool,
    /// The section, if included.
    pub section: Option<Section>,
    /// The position among the included rows, from 1.
    pub at: Option<u32>,
    /// Estimated tokens.
    pub tokens: u32,
    /// The form: the most shortened one among the item's messages.
    pub form: Form,
    pub reason: Reason,
    /// Whether it shares a row with other turns that are left out together.
    pub shared: bool,
}

impl ItemPlace {
    /// Returns the place of the item `about` in `row`, which is number `at` of the included rows.
    pub(crate) fn of(row: &Row, at: Option<u32>, about: &Atom) -> Self {
        let form = row.items.iter().map(|item| item.form).max().unwrap_or(Form::Full);
        let shared = matches!(row.atom, Atom::Range { .. }) && row.atom != *about;
        Self {
            included: row.included(),
            section: row.section(),
            at,
            tokens: if shared { 0 } else { row.tokens },
            form,
            reason: row.reason.clone(),
            shared,
        }
    }

    /// Returns the place as text, such as `recent turns, 412 tokens (estimated)`, `suggested`, or `out`.
    pub fn to_text(&self) -> String {
        let form = match self.form {
            Form::Cut(_) | Form::Elided | Form::Gone if self.included => ", shortened",
            Form::Placeholder if self.included => ", partly left out",
            _ => "",
        };
        match self.section {
            Some(section) => {
                format!("{}, {} (estimated){form}", section.title(), counted(self.tokens.into(), "token"))
            }
            None if matches!(self.reason, Reason::SuggestedByModel | Reason::SuggestedByRenewals { .. }) => {
                "suggested".to_owned()
            }
            None => "out".to_owned(),
        }
    }

    /// Returns whether two places look the same to a person: section, form, and kind of reason.
    pub fn looks_like(&self, other: &Self) -> bool {
        self.included == other.included
            && self.section == other.section
            && self.form == other.form
            && same_reason(&self.reason, &other.reason)
    }
}

named_enum! {
    /// The cause of a difference.
    #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize)]
    pub enum CauseKind {
        /// A person's act.
        You = "you" => "you",
        /// An act of the model.
        Model = "model" => "the model",
        /// The program created, renewed, or ended a lease.
        Lease = "lease" => "a lease",
        Budget = "budget" => "the budget",
        /// The context mode.
        Mode = "mode" => "the mode",
        /// The policy or the layout.
        Policy = "policy" => "the policy",
        /// Another model with different token counts or another window.
        OtherModel = "other_model" => "another model",
        /// A summary replaces turns.
        Summary = "summary" => "a summary",
        Retrieval = "retrieval" => "the question",
        /// The window of recent turns moved.
        Window = "window" => "the window",
        /// The conversation continued.
        Turn = "turn" => "the conversation",
        /// Another path: a branch, another version of a message.
        Branch = "branch" => "another path",
    }
    /// Returns the title.
    pub fn title
}

/// One cause of a difference.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Cause {
    pub by: CauseKind,
    /// The cause as a sentence.
    pub words: String,
    /// Milliseconds since 1970, if known.
    pub at: Option<i64>,
}

/// A difference of one item.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ItemDiff {
    /// The item, as the later plan names it.
    pub atom: Atom,
    pub row: RowKind,
    /// The first words, unsanitized.
    pub title: String,
    /// The turn, from 1.
    pub turn: Option<u32>,
    /// How it differs, most important first; never empty.
    pub kinds: Vec<DiffKind>,
    /// The place before; `None` if the plan had no such row.
    pub before: Option<ItemPlace>,
    pub after: Option<ItemPlace>,
    /// The causes; empty if unknown.
    pub causes: Vec<Cause>,
}

impl ItemDiff {
    /// Returns the kind that it is listed under.
    pub fn kind(&self) -> DiffKind {
        self.kinds.first().copied().unwrap_or(DiffKind::Reason)
    }

    /// Returns the name in lists: its turn, or the kind of its row.
    pub fn label(&self) -> String {
        match (self.turn, self.row) {
            (Some(turn), RowKind::Turn) => format!("turn {turn}"),
            (Some(turn), kind) => format!("{} {turn}", kind.name()),
            (None, kind) => kind.name().to_owned(),
        }
    }

    /// Returns the estimated tokens that the difference adds to the request; negative if it removes some.
    pub fn tokens(&self) -> i64 {
        let sent = |place: &Option<ItemPlace>| {
            place.as_ref().filter(|place| place.included).map_or(0, |place| i64::from(place.tokens))
        };
        sent(&self.after) - sent(&self.before)
    }

    /// Returns the change as text, such as `recent turns, 412 tokens (estimated) → absent`; `becomes` is the arrow.
    pub fn to_text(&self, becomes: &str) -> String {
        let text = |place: &Option<ItemPlace>| place.as_ref().map_or_else(|| "absent".to_owned(), ItemPlace::to_text);
        let (from, to) = (text(&self.before), text(&self.after));
        if from == to { to } else { format!("{from} {becomes} {to}") }
    }
}

/// A call that was made, or the next call.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CallRef {
    /// The run; `None` if the call was not sent.
    pub run: Option<RunId>,
    pub plan: Hash,
    pub branch: Option<BranchId>,
    /// The branch's name, unsanitized.
    pub name: String,
    /// Milliseconds since 1970; `None` if the call was not sent.
    pub at: Option<i64>,
    /// Estimated tokens of the prompt.
    pub tokens: u32,
    /// The tokens that the prompt may take: the budget less its safety margin.
    pub budget: u32,
    /// The safety margin.
    pub safety: u32,
    pub model: String,
    /// Millionths of a dollar, if known.
    pub cost_micro: Option<u64>,
}

/// A difference of a setting.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct SettingDiff {
    pub name: &'static str,
    pub before: String,
    pub after: String,
    /// Both values as they are shown. A budget is shown with its safety margin; in JSON it is without.
    #[serde(skip)]
    pub shown: [String; 2],
}

impl SettingDiff {
    /// Returns the difference as text: `mode: Light → Off`.
    pub fn to_text(&self) -> String {
        format!("{}: {} → {}", self.name, self.shown[0], self.shown[1])
    }
}

/// The differences between two plans.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct PlanDiff {
    /// The earlier call.
    pub before: CallRef,
    /// The later call.
    pub after: CallRef,
    /// Settings that differ.
    pub settings: Vec<SettingDiff>,
    /// Items by kind, each in the order of the request.
    pub deltas: Vec<ItemDiff>,
    /// Number of unchanged included rows.
    pub same: u32,
    /// Estimated tokens of those rows.
    pub same_tokens: u32,
}

impl PlanDiff {
    /// Returns the number of items of a kind, and the tokens they add.
    pub fn sum(&self, kind: DiffKind) -> (usize, i64) {
        let items = self.deltas.iter().filter(|delta| delta.kind() == kind);
        items.fold((0, 0), |(count, tokens), delta| (count + 1, tokens + delta.tokens()))
    }
}

/// An item in consecutive calls.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemInCall {
    /// The first of these calls.
    pub from: CallRef,
    /// The last of them.
    pub to: CallRef,
    pub calls: u32,
    /// The place in the last of them; `None` if the plan had no such row.
    pub place: Option<ItemPlace>,
    /// The causes of that place.
    pub causes: Vec<Cause>,
}

/// A transition in an item's history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct HistoryStep {
    /// Milliseconds since 1970.
    pub at: i64,
    pub to: ItemState,
    /// A text that says what happened, by whom, and why.
    pub words: String,
}

/// The history of an item over the calls of a branch.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ItemHistory {
    pub atom: Atom,
    /// The first words, unsanitized.
    pub title: String,
    /// The turn, from 1.
    pub turn: Option<u32>,
    /// The places, oldest first; consecutive calls with the same place are one entry.
    pub stays: Vec<ItemInCall>,
    /// Number of older calls that were not examined.
    pub older: u32,
    /// The transitions, oldest first.
    pub steps: Vec<HistoryStep>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Places as displayed, by section, form, and reason.
    #[test]
    fn item_places_as_text() {
        let (recent, mattered) = (Some(Section::Recent), Reason::SuggestedByRating);
        for (section, form, reason, words) in [
            (recent, Form::Full, mattered.clone(), "recent turns, 1,412 tokens (estimated)"),
            (recent, Form::Elided, mattered.clone(), "recent turns, 1,412 tokens (estimated), shortened"),
            (recent, Form::Placeholder, mattered.clone(), "recent turns, 1,412 tokens (estimated), partly left out"),
            (None, Form::Elided, Reason::SuggestedByModel, "suggested"),
            (None, Form::Full, mattered, "out"),
        ] {
            let (included, at, shared) = (section.is_some(), None, false);
            let place = ItemPlace { included, section, at, tokens: 1_412, form, reason, shared };
            assert_eq!(place.to_text(), words);
            let one = ItemPlace { tokens: 1, ..place };
            assert_eq!(one.to_text(), words.replace("1,412 tokens", "1 token"));
        }
    }

    #[test]
    fn places_that_look_the_same_are_alike() {
        let (tokens, reason) = (10, Reason::Recent);
        let section = Some(Section::Recent);
        let place = ItemPlace { included: true, section, at: Some(1), tokens, form: Form::Full, reason, shared: false };
        let same = ItemPlace { at: Some(7), tokens: 99, shared: true, ..place.clone() };
        assert!(place.looks_like(&place) && place.looks_like(&same) && same.looks_like(&place));
        for other in [
            ItemPlace { included: false, ..place.clone() },
            ItemPlace { section: Some(Section::System), ..place.clone() },
            ItemPlace { form: Form::Elided, ..place.clone() },
            ItemPlace { reason: Reason::OutsideWindow, ..place.clone() },
        ] {
            assert!(!place.looks_like(&other) && !other.looks_like(&place), "{other:?}");
        }
    }
}
