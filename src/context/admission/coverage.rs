//! The summaries of a plan, the turns that they replace, and the rows of the others.
//! Not for: the choice of summaries (`accepted_summaries`).

use crate::domain::base::Hash;
use crate::domain::conversation::Atom;
use crate::domain::planning::{
    Block, Budget, CoveredTurn, Gap, PlanInput, Row, RowKind, SummaryInput, TurnInput, Verdict,
};
use crate::domain::planning::{Reason, Remedy};
use std::collections::{HashMap, HashSet};

/// The remedy for a summary that would not change the request.
pub(super) const LIST: (&str, &str) = ("capsules", "lists the summaries in use");

/// The summaries of a plan, and the turns that they replace.
#[derive(Clone, Default)]
pub(in crate::context) struct SummaryCoverage {
    /// The summaries that are sent.
    pub(in crate::context) used: Vec<Hash>,
    /// For each turn: the summary that replaces it.
    pub(in crate::context) by: Vec<Option<Hash>>,
    /// For each turn: whether it contains something that the question names and its summary lacks.
    pub(in crate::context) lacks: Vec<bool>,
    /// Turns before this index are replaced by summaries and not part of the window. Later turns can be covered, too: a
    /// lane's summary covers no turns of other lanes.
    pub(in crate::context) floor: usize,
    /// Tokens for quoting turns whose summary lacks facts that the question asks for.
    pub(in crate::context) spare: u32,
    pub(super) gaps: HashMap<Hash, Hash>,
    pub(super) texts: HashSet<Hash>,
    /// Why other summaries are not sent.
    pub(super) out: HashMap<Hash, Reason>,
}

impl SummaryCoverage {
    /// Creates the coverage with exactly these summaries in use.
    pub(in crate::context) fn new(input: &PlanInput, used: Vec<Hash>) -> Self {
        let covered = || input.covered.iter().filter(|covered| used.contains(&covered.by));
        let users: HashMap<Hash, &CoveredTurn> = covered().map(|covered| (covered.user, covered)).collect();
        let of = |turn: &TurnInput| match turn.atom {
            Atom::Turn { user, tip } => users.get(&user).filter(|covered| covered.tip == tip),
            Atom::Preamble { first } => users.get(&first),
            Atom::Message { .. } | Atom::Episode { .. } | Atom::Section { .. } | Atom::Range { .. } => None,
        };
        let (by, lacks): (Vec<Option<Hash>>, Vec<bool>) = input
            .turns
            .iter()
            .map(|turn| of(turn).map_or((None, false), |covered| (Some(covered.by), covered.lacks)))
            .unzip();
        let gaps: HashMap<Hash, Hash> = covered().map(|c| (c.tip, c.by)).collect();
        let floor = by.iter().take_while(|by| by.is_some()).count();
        let texts = input.summaries.iter().filter(|one| used.contains(&one.by)).map(|one| one.text).collect();
        Self { used, by, lacks, floor, spare: 0, gaps, texts, out: HashMap::new() }
    }

    /// Returns whether a summary replaces this turn.
    pub(in crate::context) fn covers(&self, turn: usize) -> bool {
        self.by[turn].is_some()
    }

    /// Returns the summary that covers a gap.
    pub(in crate::context) fn gap(&self, gap: &Gap) -> Option<Hash> {
        self.gaps.get(&gap.range.1).copied()
    }

    /// Returns whether this block is a summary that is not sent.
    pub(in crate::context) fn omits(&self, block: &Block) -> bool {
        block.kind == RowKind::Summary && !self.texts.contains(&block.text)
    }

    /// Returns the row of a summary that is not sent; `None` for an earlier version if a later version replaces the same
    /// turns.
    pub(in crate::context) fn row(
        &self,
        row: Row,
        (free, budget): (u32, &Budget),
        all: &[SummaryInput],
    ) -> Option<Row> {
        let older = all.iter().any(|one| Some(one.text) == row.text && one.older);
        let (why, (action, does)) = match row.text.and_then(|text| self.out.get(&text)) {
            Some(Reason::Budget { free: most }) => (Reason::Budget { free: free.min(*most) }, budget.remedy()),
            Some(Reason::Duplicate) if older => return None,
            Some(
                why @ (Reason::Duplicate
                | Reason::DisplacesTurn { .. }
                | Reason::SessionFull { .. }
                | Reason::LevelsOver { .. }),
            ) => (why.clone(), LIST),
            _ => (Reason::SavesNothing, LIST),
        };
        let remedy = Remedy { action: action.into(), does: does.into() };
        let verdict = Verdict::Out { needed: row.tokens.saturating_sub(free), remedy: Some(remedy) };
        Some(Row { verdict, reason: why, ..row })
    }
}
