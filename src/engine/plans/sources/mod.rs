//! Sources of a plan's content in addition to its turns: rules, memory, error pairs, code, retrieval, summaries,
//! suggested pins. Each returns candidates.
//! Not for: deciding which candidates fit (the module `context`).

pub(crate) mod card_text;
pub(crate) mod cards;
pub(crate) mod code;
pub(crate) mod code_history;
pub(crate) mod code_meaning;
pub(crate) mod code_offer;
pub(crate) mod code_rows;
pub(crate) mod code_search;
pub(crate) mod error_pairs;
pub(crate) mod memory;
pub(crate) mod memory_terms;
pub(crate) mod retrieval;
pub(crate) mod round_parts;
pub(crate) mod rounds;
pub(crate) mod rule_text;
pub(crate) mod rules;
pub(crate) mod sent_lines;
pub(crate) mod subjects;
pub(crate) mod suggested_pins;
pub(crate) mod summaries;
