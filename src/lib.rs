//! pleach: a terminal workbench for branching conversations with language models, in which a person sees and decides
//! exactly what goes into every call, before it goes. This page is the architecture document.
//!
//! # The promise
//!
//! Enter sends exactly what the screen shows. A plan is solved before each call; every turn, pin and text stands in exactly
//! one of its rows, in or out, with its tokens and its reason; the request's bytes are made once from that plan, hashed,
//! stored with the run, and posted unchanged.
//!
//! # The house
//!
//! ```text
//!                          main.rs
//!                 ┌───────────┴───────────┐
//!                cli                     tui            top floor: people
//!                 └───────────┬───────────┘
//!                          engine                       the only room that orchestrates
//!         ┌────────┬──────────┼──────────┬────────┐
//!      context    llm    tools   mcp    config  telemetry    second floor: one talent each
//!       store   import     export    retrieval   code
//!         └────────┴──────────┬──────────┴────────┘
//!                          domain                       ground: nouns; nothing that touches the world
//! ```
//!
//! | room | what it is for | may import |
//! |---|---|---|
//! | [`domain`] | nouns and pure rules: messages, trees, marks, plans, reasons, sanitised text, ports | nothing |
//! | [`config`] | settings, key table, policies, model table, prompts | domain |
//! | [`context`] | the planner: input → plan with reasons → bytes | domain |
//! | [`retrieval`] | the older messages that a question is about: gate, BM25 over a path, cards | domain |
//! | [`code`] | the symbols of a workspace: parsing, index, touchpoints for a question, the map | domain |
//! | [`store`] | one SQLite file: writer thread, readers, migrations, search | domain |
//! | [`llm`] | servers, the offline model, recordings, token counting | domain |
//! | [`tools`] | tools confined to the workspace folder: reading, changing files, commands in a cage | domain |
//! | [`mcp`] | servers of tools (Model Context Protocol): started, called, ended | domain |
//! | [`import`], [`export`] | foreign formats to and from neutral records | domain |
//! | [`telemetry`] | the log file | domain |
//! | [`engine`] | sessions, turns, planning beside them, undo, recovery; its only door is [`engine::api`] | all of these |
//! | [`tui`] | the workbench: pure model, update, view, and the terminal | domain, config, `engine::api` |
//! | [`cli`] | the command line | domain, config, `engine::api` |
//!
//! `tests/architecture.rs` holds this table and fails the build on any other edge, on a file without a header, on a file
//! over 500 lines, on a folder of more than 22 files, and on guests in the wrong room (SQLite only in the store, the terminal only in the workbench, the
//! network only in `llm`, no clock or file in the planner, the screen's update or its views).
//!
//! # A turn's journey
//!
//! 1. A key becomes an action (`config/keymap.toml`), a message, a pure `update`, and a command through the engine's door.
//! 2. Typing or acting asks for a new plan. The engine copies what can matter into a snapshot (`engine::plans::snapshot`); the
//!    planner's thread gathers contents and counts (`engine::plans::input_builder`) into a frozen
//!    [`PlanInput`](domain::planning::input::PlanInput), solves it ([`context::plan`]: score → admit → explain) and renders the bytes
//!    ([`context::render`]). Only the newest draft of a branch is worked on. Where an embedder is set, a thread beside it
//!    (`engine::indexing::vectors`) makes vectors of passages; a plan takes those that are there. Likewise code: a thread of its own
//!    (`engine::indexing::code_indexer`) keeps an index of a trusted workspace, and a plan (`engine::plans::sources::code`) takes what is known when it is made.
//! 3. Enter names the plan last drawn. Is it still what the branch's head, marks, draft and settings give, its bytes are
//!    posted; else nothing is sent and the new plan is shown.
//! 4. Before the POST one transaction writes the plan and an open run with a fence. The answer streams through our own
//!    event decoder ([`llm::sse`]); pieces are saved at least every 250 ms.
//! 5. The pure turn machine ([`engine::turns::machine`]) decides what follows: the user message becomes a node with the first event,
//!    an answer with tool calls waits for all results and is committed whole with them, the grown turn is planned and asked
//!    again; a call that would change something is worked out first ([`domain::tool::consent`]) and waits for a rule's or a person's
//!    word (`engine::turns::consent`), and what it changed is an operation, so that undo takes it back; every end is one transaction with the head's compare-and-swap and the run's end.
//! 6. The state block is cut out of the answer and stored as a version; what it asks to remember or to pin is stored as
//!    suggestions; what the turn touched is kept, leases count down, and what is spoken of again is leased
//!    (`engine::turns::reflect`, decided by [`context::activation`]); usage is kept beside the estimate, and from it the meter learns how the model's server
//!    counts ([`domain::call::meter`]; for display and alarm only).
//! 7. Once a turn has closed, a thread works out whether the policy wants older turns summed up (`engine::summaries::automatic`); what is
//!    made waits as a draft, and goes into no plan before it is accepted.
//!
//! A start after a crash turns open runs of dead processes into interrupted answers with the text that had come, says so,
//! and never sends anything again.
//!
//! # Identity
//!
//! A node's key is a hash of its parent's key, role, content and twin number, so the same message is the same node on every
//! machine. Plans, marks and digests speak in keys; public ids (UUIDv7) are for people. Two answers to one question are
//! two turns. See [`domain::conversation::message::node_key`] and [`domain::conversation::mark::Atom`].
//!
//! # Where to add things
//!
//! * a reason or remedy: [`domain::planning::plan::Reason`], its sentence beside it, then `context`
//! * a policy: a TOML file in `config/policies`; a switch that it may set: [`domain::planning::policy::PolicySpec`];
//!   a number: [`domain::planning::tuning`]; a formula: [`context::policy`], brought to the plan by `context::choose`; a fact that it
//!   needs of a turn: [`domain::planning::facts`], read by `engine::plans::facts`
//! * a source of context: a [`Section`](domain::planning::policy::Section), a block in `engine::plans::input_builder`
//! * an action: a line in `config::keys::actions` (name and sentence) and one in `tui::update::actions` (what it does); its key
//!   in `config/keymap.toml`; help, palette and conflicts follow
//! * a request to the engine: its family in `engine::api::request`, a line in `engine::dispatch`
//! * a theme: a TOML file in `config/themes`, named in [`config::themes`]; an ink: [`tui::theme`]
//! * a screen: a folder in `tui::screens` with `model`, `update` and `view`, and one line in `tui::screens`
//! * a panel beside the chat: `tui::chat`
//! * a server's peculiarity: [`domain::call::model::Quirk`] and the sorting of errors in `llm`
//! * an import format: a reader in `import` that gives neutral records
//! * a language whose symbols are read: [`domain::code::symbols::Language`], its grammar in `code::parse::language`, its table in `code::parse::spec`
//! * something stored: a [`store::types::Write`], its table family, a migration
//!
//! # Glossary
//!
//! * **session**: one tree of messages with its branches. **node**: one message at one place of it. **branch**: a named
//!   pointer to a node, with an overlay of marks and settings. **path**: the nodes from the root to a branch's head.
//! * **turn**: from a user message to just before the next. **episode**: an answer with tool calls and all their results.
//!   **atom**: the smallest thing that a plan takes in or leaves out. **preamble**: what stands before the first user message.
//! * **mark**: a decision about an atom: **pin** (sticky, until taken off), **lease** (for some turns), **exclusion**
//!   (always, or this call), **include once**. A mark **sleeps** while its message is off the path.
//! * **touchpoint**: a symbol of the workspace's code that goes with a call, with its place and why; **anchor** of the map: a
//!   symbol that much depends on. **focus**: the files, folders and symbols to which looking at code keeps.
//! * **plan**: all rows of a call with their verdicts. **basis**: what it was solved from. **window**: the recent turns that
//!   go; its **anchor** is where it starts. **card**: a turn sent outside the window, dated and delimited. **form**: how a
//!   message is sent. **lane**: the topic, or the chain of replies, that a message belongs to; a branch is another
//!   continuation, a lane another subject. **level**: a share of the budget for things that last alike. **remedy**: what would bring an excluded row in.
//! * **capsule**: a summary of turns with what it was made from; **draft**: one that waits for a person. A capsule goes in
//!   place of its turns, which stay where they are; **level**: a capsule and the ones before it, taken back one by one.
//! * **trace**: what a call to a tool was asked, who allowed it and what it came to; a failed one and the later one that worked
//!   on the same are linked ([`domain::tool::resolution`]). **again**: a call that a person repeats beside the conversation.
//! * **run**: one call, written down before it is made. **request digest**: BLAKE3 of the bytes posted. **diagnostic**: what of
//!   an answer could not be taken as it came, with its bytes, kept with the run.
//! * **memory**: a fact, preference, outcome or event that is known beyond its message, in one session or in all; suggested by
//!   the model or written by a person, sent only once confirmed, shared by branches by nature, never a secret.
//!   **suggested pin**: a message that the model named in its state block, or that the program leased again and again; it
//!   waits in the plan and goes nowhere by itself.
//! * **touch**: what a completed turn did to an older one: referred to it, sent it, found it. **activation**: what an item's
//!   touches come to. **step**: a change of where an item stands (suggested, ephemeral, leased, sticky, excluded …), a row with
//!   who and why. **subject**: a cluster of questions that are alike. **task**: a stretch of a branch that a person names.
//! * **state block**: the model's own short memory at the end of its answers. **mode**: how much is gathered by itself.
//!   **policy**: quotas and switches of the planner. **layout**: the order of the sections. **dialect**: how a server wants
//!   requests written. **quirk**: a change of dialect that a server asked for by refusing a model's request. **profile**: one
//!   place to ask.

pub mod cli;
pub mod code;
pub mod config;
pub mod context;
pub mod domain;
pub mod engine;
pub mod export;
pub mod guides;
pub mod import;
pub mod llm;
pub mod mcp;
pub mod retrieval;
pub mod store;
pub mod telemetry;
pub mod tools;
pub mod tui;
