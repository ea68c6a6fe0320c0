//! Calls to models: servers and profiles, runs, usage, prices, token counts, request bodies, races, retrieval sets.
//! Not for: talking to a server (`llm`).

pub mod address;
pub mod code_set;
pub mod embedding;
pub mod item_use;
pub mod ledger;
pub mod meter;
pub mod model;
pub mod provider;
pub mod race;
pub mod request;
pub mod retrieval_set;
pub mod run;
pub mod sent_request;
pub mod tokens;
pub mod usage;
