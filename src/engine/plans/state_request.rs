//! The request to keep a state block: its text, and when no request of a snapshot asks for one.
//! Not for: deciding whether it is sent (`context::admission::state_request`), or the state blocks themselves
//! (`branches::state_block`).

use super::input::InputAssembly;
use super::snapshot::Snapshot;
use crate::context::render::render_forms;
use crate::domain::planning::state_request::STATE_REQUEST_TITLE;
use crate::domain::planning::{Block, Reason, RowKind, Section, StateBlock, StateRequestOutcome, TurnSelection};

impl InputAssembly<'_> {
    /// Whether the model is asked for a state block even if no turn is left out.
    pub(super) fn always_asks_for_state(&self) -> bool {
        let auto = self.snapshot.rules.policy.state_block == StateBlock::Auto;
        !auto || self.snapshot.state.is_some() || self.snapshot.gaps.iter().any(|gap| !gap.elsewhere)
    }

    /// Returns the block that asks the model to keep a state block; `None` if the policy never asks.
    pub(super) fn state_request(&mut self) -> Option<Block> {
        let rules = &self.snapshot.rules;
        let older = rules.policy.state_block == StateBlock::Auto;
        let mut text = rules.prompts.state_request.trim().to_owned();
        if rules.policy.state_block == StateBlock::Off || text.is_empty() {
            return None;
        }
        if rules.policy.choose == TurnSelection::Lane {
            text = format!("{text}\n\n{}", crate::engine::turns::open_question::REQUEST);
        }
        let reason = Reason::StateRequested {
            older,
            has_state: older.then_some(self.snapshot.state.is_some()),
            optional: (!older).then_some(rules.policy.state_block == StateBlock::Optional),
            by_policy: rules.state_by_policy,
        };
        let text = render_forms::block("Keeping the state", &text);
        Some(self.block(Section::Guidelines, RowKind::Text, text, STATE_REQUEST_TITLE, reason))
    }
}

/// Returns why no request of a snapshot asks for a state block, unless the previous round did; `None` if the planner
/// decides.
pub(super) fn never_asks(snapshot: &Snapshot) -> Option<StateRequestOutcome> {
    match snapshot.rules.policy.state_block {
        StateBlock::Off => Some(StateRequestOutcome::Off { has_state: snapshot.state.is_some() }),
        StateBlock::Auto | StateBlock::Required | StateBlock::Optional => {
            snapshot.round_before.as_ref().map(|_| StateRequestOutcome::LaterRound)
        }
    }
}
