//! The symbols of the workspace's code that a turn touched: the symbols that were sent with it, and the symbols that
//! the person, the answer, or a tool call named.
//! Not for: the turns that it touched, or the effects of touches (`reflect`).

use super::reflect::TurnEndInput;
use crate::context::item_use::mentioned;
use crate::domain::base::{Failure, Hash};
use crate::domain::code::CodeRef;
use crate::domain::conversation::{Part, Role, SymbolTouch, Touch};
use crate::domain::planning::{Reason, RowKind};
use crate::engine::core::{Core, content};
use crate::store::Store;
use std::collections::BTreeMap;

/// The maximum number of symbols that one text touches in addition to the symbols that were sent.
const MAX_NAMED: usize = 12;
/// Tools whose results list or quote code, so that naming a symbol there means little.
const SHOW_CODE: [&str; 5] = ["expand", "list_dir", "read_file", "request_code_context", "search"];

/// Returns the touch of a symbol, to be completed.
fn touch<'a>(found: &'a mut BTreeMap<Hash, SymbolTouch>, code: &CodeRef) -> &'a mut Touch {
    let item = code.key();
    let new = || SymbolTouch { code: code.clone(), touch: Touch { item, ..Touch::default() } };
    &mut found.entry(item).or_insert_with(new).touch
}

impl Core {
    /// Returns the symbols that a turn touched, in the order of their keys.
    pub(super) fn touched_symbols(
        &self,
        input: &TurnEndInput<'_>,
        (asked, answer): (&str, &str),
    ) -> Result<Vec<SymbolTouch>, Failure> {
        if input.rules.code.is_none() {
            return Ok(Vec::new());
        }
        let spoken = format!("{answer}\n{}", texts_of_tools(&self.store, input)?);
        let mut found: BTreeMap<Hash, SymbolTouch> = BTreeMap::new();
        for row in input.live.solved.plan.included().filter(|row| row.kind == RowKind::Code) {
            let Some(code) = row.source.code.as_deref() else { continue };
            let touch = touch(&mut found, code);
            touch.plan = true;
            touch.found |= matches!(row.reason, Reason::Touchpoint { .. });
            touch.user |= mentioned(asked, code);
            touch.model |= mentioned(&spoken, code);
        }
        for code in self.named_symbols(input.branch.id, asked, MAX_NAMED) {
            touch(&mut found, &code).user = true;
        }
        for code in self.named_symbols(input.branch.id, &spoken, MAX_NAMED) {
            touch(&mut found, &code).model = true;
        }
        Ok(found.into_values().collect())
    }
}

/// Returns the arguments of the turn's tool calls, and the results of tools that do not show code.
fn texts_of_tools(store: &Store, input: &TurnEndInput<'_>) -> Result<String, Failure> {
    let mut texts = String::new();
    for at in input.path.turns[input.here].nodes.clone() {
        let head = input.session.tree.head(input.path.slots[at]);
        if !(head.role == Role::Tool || head.calls > 0) {
            continue;
        }
        for part in &content(store, head.id)?.parts {
            let text = match part {
                Part::Call { args, .. } => args,
                Part::Reply { name, body, .. } if !SHOW_CODE.contains(&name.as_str()) => body,
                Part::Reply { .. } | Part::Text { .. } | Part::Reasoning { .. } | Part::Opaque { .. } => continue,
            };
            texts.push_str(text);
            texts.push('\n');
        }
    }
    Ok(texts)
}
