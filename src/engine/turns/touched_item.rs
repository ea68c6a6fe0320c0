//! An item that turns touched: an older turn, or a symbol of the workspace's code, with the facts that a decision uses.
//! Not for: finding its touches (`reflect`, `reflect_code`), or the decision (`context::activation`).

use super::reflect::{TurnEndInput, by_engine, card_tokens};
use crate::context::activation::ItemMarks;
use crate::domain::code::CodeRef;
use crate::domain::conversation::{Actor, Atom, LeaseTurns, Mark, MarkKind, Touch, Touches};
use crate::engine::branches::mark_state::MarkUpdate;
use crate::engine::plans::sources::code::SYMBOL_TOKENS;
use crate::engine::plans::sources::code_rows::atom_of;
use crate::engine::plans::sources::suggested_pins;
use std::collections::BTreeMap;

/// An item that turns touched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TouchedItem {
    /// An older turn, by its index on the path.
    Turn(usize),
    Symbol(Box<CodeRef>),
}

impl TouchedItem {
    pub(super) fn turn(&self) -> Option<usize> {
        match self {
            Self::Turn(turn) => Some(*turn),
            Self::Symbol(_) => None,
        }
    }

    pub(super) fn code(&self) -> Option<&CodeRef> {
        match self {
            Self::Turn(_) => None,
            Self::Symbol(code) => Some(code),
        }
    }

    fn is_target(&self, input: &TurnEndInput<'_>, target: &Atom) -> bool {
        match self {
            Self::Turn(turn) => input.turn_of_atom(target) == Some(*turn),
            Self::Symbol(code) => *target == atom_of(code),
        }
    }

    /// Returns the target of the program's mark.
    pub(super) fn target(&self, input: &TurnEndInput<'_>) -> Atom {
        let mut own = input.branch.marks.iter().filter(|mark| by_engine(mark)).map(|mark| mark.target);
        own.find(|target| self.is_target(input, target)).unwrap_or_else(|| match self {
            Self::Turn(turn) => input.atom(*turn),
            Self::Symbol(code) => atom_of(code),
        })
    }

    /// Returns the atom that a pin suggestion for the item uses.
    pub(super) fn suggestion(&self, input: &TurnEndInput<'_>) -> Atom {
        match self {
            Self::Turn(turn) => suggested_pins::atom(input.first(*turn)),
            Self::Symbol(code) => suggested_pins::symbol_atom(code.key()),
        }
    }

    /// Returns the name inside a sentence.
    pub(super) fn name(&self, input: &TurnEndInput<'_>) -> String {
        match self {
            Self::Turn(turn) => format!("turn {}", input.path.number(*turn)),
            Self::Symbol(code) => code.qualified.clone(),
        }
    }

    /// Returns the name at the start of a sentence.
    pub(super) fn title(&self, input: &TurnEndInput<'_>) -> String {
        match self {
            Self::Turn(turn) => format!("Turn {}", input.path.number(*turn)),
            Self::Symbol(code) => code.qualified.clone(),
        }
    }

    /// Estimates the tokens of its card.
    pub(super) fn tokens(&self, input: &TurnEndInput<'_>) -> u32 {
        self.turn().map_or(SYMBOL_TOKENS, |turn| card_tokens(input, turn))
    }

    /// Returns how one turn touched it.
    pub(super) fn touch(&self, input: &TurnEndInput<'_>, touches: &Touches) -> Touch {
        let found = match self {
            Self::Turn(turn) => {
                let first = input.first(*turn);
                touches.touched.iter().find(|touch| touch.item == first).copied()
            }
            Self::Symbol(code) => {
                let key = code.key();
                touches.symbols.iter().map(|symbol| symbol.touch).find(|touch| touch.item == key)
            }
        };
        found.unwrap_or_default()
    }

    /// Returns the kind of its mark after the changes.
    pub(super) fn marks(&self, input: &TurnEndInput<'_>, after: &BTreeMap<Atom, MarkUpdate>) -> ItemMarks {
        let mut held = ItemMarks::Free;
        let own = |mark: &&Mark| self.is_target(input, &mark.target);
        for mark in input.branch.marks.iter().filter(own) {
            let now = after.get(&mark.target).map_or(Some(mark), |update| update.after.as_ref());
            match (mark.by, now.map(|mark| mark.kind)) {
                (Actor::Engine, Some(MarkKind::Leased { turns: LeaseTurns::Left(_) })) => {
                    held = ItemMarks::Leased { renewals: mark.renewals };
                }
                (Actor::Engine, _) => {}
                (Actor::User | Actor::Model, _) => return ItemMarks::Person,
            }
        }
        held
    }
}
