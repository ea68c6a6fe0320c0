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
    /// A limit: the item was requested but did not fit.
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
            "budget" | "allowance" | "saves_nothing" | "lease_cap" | "too_large" | "level_full" | "session_full"
            | "levels_over" | "soft_target" | "model_cannot" => DecidedBy::Limit,
            _ => DecidedBy::Program,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_room_is_left_out_by_a_limit() {
        for reason in [Reason::Budget { free: 1 }, Reason::LevelFull { budget: 1 }, Reason::SessionFull { budget: 1 }] {
            assert_eq!(reason.decided_by(), DecidedBy::Limit, "{reason:?}");
        }
    }
}
