//! Who decided that an item is included or left out: a person, the program's rules, or a limit.
//! Not for: the reasons themselves (`reason`).

use super::reason::Reason;

/// Who decided that an item is included or left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DecidedBy {
    /// A person's mark, reply, or setting.
    Person,
    /// The program's rules.
    Program,
    /// A limit: the item was wanted but did not fit.
    Limit,
}

impl Reason {
    /// Returns who decided: a person, the program's rules, or a limit.
    pub fn decided_by(&self) -> DecidedBy {
        match self.name() {
            "sticky"
            | "included_once"
            | "user_excluded"
            | "replied"
            | "by_hand"
            | "edited_away"
            | "switched_off"
            | "conversation_instructions" => DecidedBy::Person,
            "leased" if !matches!(self, Self::Leased { engine: true, .. }) => DecidedBy::Person,
            "budget" | "allowance" | "saves_nothing" | "lease_cap" | "too_large" | "level_full" | "levels_over"
            | "soft_target" | "model_cannot" => DecidedBy::Limit,
            _ => DecidedBy::Program,
        }
    }
}
