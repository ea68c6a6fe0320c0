//! The ground floor: nouns and pure rules about them. Nothing here touches the world: no files, no network, no clock,
//! no randomness, no terminal.
//!
//! A person's words for these are in the glossary of the crate's documentation.

pub mod activation;
pub mod arm;
pub mod asks;
pub mod blocked;
pub mod branch;
pub mod capsule;
pub mod chart;
pub mod code;
pub mod compare;
pub mod condense;
pub mod consent;
pub mod damage;
pub mod diff;
pub mod embed;
pub mod evidence;
pub mod facts;
pub mod failure;
pub mod find;
pub mod hash;
pub mod ids;
pub mod input;
pub mod lane;
pub mod ledger;
pub mod lines;
pub mod mark;
pub mod matching;
pub mod memory;
pub mod message;
pub mod meter;
pub mod mode;
pub mod model;
pub mod op;
pub mod plan;
pub mod policy;
pub mod project;
pub mod provider;
pub mod race;
pub mod reason;
pub mod record;
pub mod request;
pub mod run;
pub mod safe;
pub mod state;
pub mod tag;
pub mod task;
pub mod tokens;
pub mod trace;
pub mod transition;
pub mod tree;
pub mod tuning;
pub mod usage;
pub mod versions;
pub mod whatif;
