//! The built-in prompts from `assets/prompts`.
//! Not for: deciding when they are sent (`context`, `engine`).

/// The built-in system prompt.
pub const SYSTEM: &str = include_str!("../../assets/prompts/system.md");
/// Guidelines for reading the history.
pub const GUIDELINES: &str = include_str!("../../assets/prompts/guidelines.md");
/// The request for a state block.
pub const STATE_BLOCK: &str = include_str!("../../assets/prompts/state_block.md");
/// Asks for a state block of messages that have none.
pub const STATE_FROM_MESSAGES: &str = include_str!("../../assets/prompts/state_from_messages.md");
/// The version of [`STATE_FROM_MESSAGES`]; it increases when the text changes.
pub const STATE_FROM_MESSAGES_VERSION: u32 = 1;
/// Asks the model to continue a truncated answer.
pub const CONTINUE: &str = include_str!("../../assets/prompts/continue.md");
/// Asks for a summary of older messages.
pub const SUMMARIZE: &str = include_str!("../../assets/prompts/summarize.md");
/// The version of [`SUMMARIZE`]; it increases when the text changes.
pub const SUMMARIZE_VERSION: u32 = 2;
/// Asks for a module summary.
pub const MODULE: &str = include_str!("../../assets/prompts/module.md");
/// The version of [`MODULE`]; it increases when the text changes.
pub const MODULE_VERSION: u32 = 2;
/// Asks for a session's title.
pub const TITLE: &str = include_str!("../../assets/prompts/title.md");
/// The version of [`TITLE`]; it increases when the text changes.
pub const TITLE_VERSION: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::conversation::state;

    #[test]
    fn the_parser_finds_the_requested_state_block() {
        for prompt in [STATE_BLOCK, STATE_FROM_MESSAGES] {
            // Of an unfinished answer, only a block with its end marker counts.
            let block = state::find(prompt, false).unwrap();
            let names: Vec<&str> = block.text.lines().filter_map(|line| Some(line.split_once(':')?.0)).collect();
            assert_eq!(names, ["Goal", "Context", "Resolved", "Technical Anchors"]);
        }
    }

    #[test]
    fn no_prompt_is_empty() {
        for text in [SYSTEM, GUIDELINES, STATE_BLOCK, CONTINUE, SUMMARIZE, MODULE, TITLE, STATE_FROM_MESSAGES] {
            assert!(text.trim().len() > 80);
        }
    }
}
