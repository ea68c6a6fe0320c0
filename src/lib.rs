//! pleach: a terminal workbench for branching conversations with language models, in which a person sees and decides
//! exactly what goes into every call, before it is sent. This page is the architecture document.
//!
//! # The guarantee
//!
//! Enter sends exactly what the screen shows. A plan is solved before each call. Every turn, pin, and text is in
//! exactly one of its rows, included or left out, with its tokens and its reason. The request's bytes are rendered once
//! from that plan, hashed, stored with the run, and posted unchanged.
//!
//! # The modules
//!
//! ```text
//!                          main.rs
//!                 ┌───────────┴───────────┐
//!                cli                     tui            user interfaces
//!                 └───────────┬───────────┘
//!                          engine                       the only module that orchestrates
//!         ┌────────┬──────────┼──────────┬────────┐
//!      context    llm    tools   mcp    config  telemetry    one responsibility each
//!       store   import     export    retrieval   code
//!         └────────┴──────────┬──────────┴────────┘
//!                          domain                       types and pure rules, without side effects
//! ```
//!
//! | module | purpose | may import |
//! |---|---|---|
//! | [`domain`] | types and pure rules: messages, trees, marks, plans, reasons, sanitized text, ports | nothing |
//! | [`config`] | settings, key table, table of commands, policies, model table, prompts | domain |
//! | [`context`] | the planner: input → plan with reasons → bytes (`policy`, `admission`, `explain`, `render`, `summary`) | domain |
//! | [`retrieval`] | search of older messages for a question: gate, BM25 over a path, floor, cards | domain |
//! | [`code`] | the symbols of a workspace: parsing, index, touchpoints for a question, the map | domain |
//! | [`store`] | one SQLite file: writer thread, readers, migrations, search | domain |
//! | [`llm`] | servers, the offline model, recordings, token counting | domain |
//! | [`tools`] | tools confined to the workspace folder: reading and changing files, commands in a sandbox | domain |
//! | [`mcp`] | MCP servers (Model Context Protocol): starting, calling, and ending them | domain |
//! | [`import`], [`export`] | conversion of other formats to and from neutral records | domain |
//! | [`telemetry`] | the log file | domain |
//! | [`engine`] | sessions, turns, background planning, undo, recovery; its only interface is [`engine::api`] | all of these |
//! | [`tui`] | the workbench: pure model, update, view, and the terminal | domain, config, `engine::api` |
//! | [`cli`] | the command line | domain, config, `engine::api` |
//!
//! `tests/architecture.rs` contains this table. It rejects any other import, a file without a header, a public item
//! without a docstring, a file over 500 lines, a folder of more than 22 files, and a library in the wrong module (SQLite
//! only in the store, the terminal only in the workbench, the network only in `llm`, no clock or file in the planner,
//! the screen's update, or its views). The folders of `domain` re-export their types; other modules import them from
//! there.
//!
//! # The course of a turn
//!
//! 1. A key becomes an action (`config/keymap.toml`), the action becomes a message, a pure `update` handles the
//!    message, and the resulting command becomes a request to [`engine::api`].
//! 2. The screen asks for the plan of each new draft. When anything else that the plan depends on changes (a mark, a
//!    setting, a memory, the workspace), the engine plans the draft on the screen again automatically
//!    (`Core::replan_when_due`). The engine copies everything that the plan can depend on into a snapshot
//!    (`engine::plans::snapshot`). The planner's thread collects contents and token counts (`engine::plans::collect`)
//!    into a frozen [`PlanInput`](domain::planning::input::PlanInput), solves it once ([`context::plan`]: score, admit,
//!    explain), and renders the bytes ([`context::render`]). Sources of context (`engine::plans::sources`) return
//!    [`Offer`](domain::planning::input::Offer)s: candidates with their tokens in every form, and the limit that they
//!    share. A source does not know how many tokens are free. A source that must not repeat other content (errors,
//!    code, older messages) receives the turns that are sent in any case ([`context::already_in`]). Only
//!    `context::admission` admits items, in this order: required items, a person's leases, the newest turn in its
//!    shortest form, rules, module summaries, and the map of the code, retrieved items within the mode's allowance, the
//!    window of turns with all that is left, the program's leases, and retrieved items that still fit. Sources search
//!    in every budget, however small. The text of a retrieved item depends on what is sent before it (a date line only
//!    once a day, a mark where messages are left out, a path only once a file) and on how much of it is sent (passages
//!    of a message, a signature with or without an excerpt). So a search composes a candidate for each of these, with a
//!    text for each position ([`retrieval::compose`], [`code::find::cards`]), until admission has enough to choose from
//!    ([`context::enough_for`]). Admission chooses among them, and then the form of each. The best candidates that are
//!    not admitted get rows with the reason `allowance`. An accepted summary is sent in every mode if the request is no
//!    larger with it than without it and keeps a person's leases and every turn that has room beside it
//!    (`context::admission::accepted_summaries`). Only the newest draft of a branch is planned. When an embedder is
//!    configured, a separate thread (`engine::indexing::vectors`) computes vectors of passages, and a plan uses the
//!    vectors that exist. Code works the same way: a thread (`engine::indexing::code_indexer`) keeps an index of a
//!    trusted workspace, and a plan (`engine::plans::sources::code`) uses the index as it is when the plan is made. The
//!    decision and the candidates of a search of the code are stored with the call as a set
//!    ([`domain::call::code_set`]). A message without content keeps the symbols of the newest set of its path
//!    (`engine::plans::sources::code_history`).
//! 3. Enter names the plan that was drawn last. If the branch's head, marks, draft, and settings still give that plan,
//!    its bytes are posted. Otherwise nothing is sent, and the new plan is shown.
//! 4. Before the POST, one transaction writes the plan and an open run with a fence. The answer streams through our own
//!    event decoder ([`llm::sse`]), and the received text is saved every 150 ms.
//! 5. The pure turn machine ([`engine::turns::machine`]) decides the next step. The first event turns the user message
//!    into a node. An answer with tool calls waits for all results and is committed together with them; then the longer
//!    turn is planned and sent again, with the turns, the code, and the rules of the previous round in the same bytes
//!    (`engine::plans::sources::rounds`). The effect of a call that would make changes is determined first
//!    ([`domain::tool::consent`]); then the call waits for a rule or a person to allow it (`engine::turns::consent`).
//!    Its changes are an operation, so undo reverts them. Each turn ends in one transaction that moves the branch's
//!    head by compare-and-swap and closes the run.
//! 6. The state block is removed from the answer and stored as a version. Its requests to remember or to pin something
//!    are stored as suggestions. The engine records which turns and symbols the turn touched, counts leases down, and
//!    leases items that were mentioned again (`engine::turns::reflect`, decided by [`context::activation`]). The
//!    reported usage is stored beside the estimate. From both, the meter learns how the model's server counts
//!    ([`domain::call::meter`]); this affects only display and alarms. Once the answer is on the screen, the engine
//!    records which items of the call the answer used, with the kind of evidence (`engine::turns::item_use`, found by
//!    [`context::item_use`]). No text is stored.
//! 7. After a turn has closed, and once the next call of a branch that was opened is planned, a thread checks whether
//!    the policy wants a summary of older turns (`engine::summaries::automatic`). The summary waits as a draft, which
//!    is stored and which every program shows (`engine::summaries::stored`), and enters no plan until a person accepts
//!    it. A single command drafts it before it ends, unless the model would have to write it.
//!
//! After a crash, the next start turns the open runs of dead processes into interrupted answers with the text that had
//! arrived. It reports this and never sends anything again.
//!
//! # Identity
//!
//! A node's key is a hash of its parent's key, role, content, and twin number, so the same message is the same node on
//! every machine. Plans, marks, and digests use keys; public ids (UUIDv7) are for people. Two answers to one question
//! are two turns. See [`domain::conversation::message::node_key`] and [`domain::conversation::mark::Atom`].
//!
//! # Where to add things
//!
//! * a reason: [`domain::planning::Reason`] with its sentence, and one arm in
//!   [`domain::planning::reason_facts`] with everything else: its name in JSON, its label, who decided, the step of
//!   admission, and its usual cause. A remedy: [`domain::planning::Remedy`]
//! * a policy: a TOML file in `config/policies`; a switch that it may set: [`domain::planning::policy::PolicySpec`]; a
//!   number: [`domain::planning::tuning`]; a formula: [`context::policy`], applied by `context::admission::choose`; a
//!   fact about turns that it needs: [`domain::planning::facts`], read by `engine::plans::facts`
//! * a source of context: a file in `engine::plans::sources` that returns an [`Offer`](domain::planning::input::Offer),
//!   a line in `engine::plans::collect`; what stays during the tool rounds of a turn: `sources::rounds`; a
//!   [`Section`](domain::planning::policy::Section) where none fits
//! * a setting: a field in [`config::settings`] and its default in `config/default.toml`; the engine reads it in
//!   `engine::startup::setup`, the screen in `tui::shell::configuration`
//! * an action: a line in its family in `config::keys::actions` (whether its letter is guarded, name, sentence) and one
//!   in the function of its family in `tui::update::actions` (what it does); its key in `config/keymap.toml`; help, the
//!   palette, and the conflict check use both
//! * an action that several screens have: a method of [`tui::screens::screen::Screen`] that passes by default, and an
//!   implementation in each screen that has it; `tui::update::shared` offers the action to the topmost screen, and a
//!   notice follows if that screen passes. `tests/it/screens/every_screen/bound_keys.rs` presses every key that a
//!   screen binds
//! * a command, which is also a slash command: a variant in `config::commands::command` (or in the file of its family)
//!   with its sentence and its example, its group in `config::commands::table`, an arm in `cli`, and an arm in
//!   `tui::chat::update::commands`; help, completion, `--plain`, and the manual page use the table. `Print` there means
//!   that the code of the command line runs the command and the screen shows its output
//! * a request to the engine: its family in `engine::api::request`, a line in `engine::dispatch`; its answer: the same
//!   family in `engine::api::answer`
//! * state of the engine: the part that owns it (`engine::sessions::state`, `turns::state`, `plans::state`,
//!   `summaries::state`, `tools::state`), which does not depend on the core that contains it. A function that needs one
//!   part is a method of it, one that needs two takes both; a method of `Core` coordinates several
//! * work beside the engine's thread: [`engine`]'s `jobs`, which starts every thread of the engine, cancels jobs, and
//!   answers every ticket
//! * a theme: a TOML file in `config/themes`, named in [`config::themes`]; a color role (an `Ink`): [`tui::theme`]
//! * a screen: a folder in `tui::screens` with `model`, `update`, and `view`, whose `mod.rs` implements
//!   [`tui::screens::screen::Screen`], and one line in `tui::screens`. An action pushes it on `Model::layers`. Keys of
//!   its own: a section in `config::keys::places`. A pending answer: a variant of its family in
//!   [`tui::model::pending`], an arm in `tui::update::answers`, and `answered` in its `update`
//! * a panel beside the chat: `tui::chat`
//! * a tool for the model: its definition in `tools::specs`, its effect in `resolve_effect` in `tools`, and an arm in
//!   `run_reader` or `carry_out` there; a tool about the program's own data: `engine::tools`
//! * a quirk of a server: [`domain::call::model::Quirk`] with its effect on the dialect; the errors by which it is
//!   recognized: `llm::fault`, `quirk`
//! * an import format: a reader in `import` that gives neutral records
//! * a record of a bundle: its kind in [`domain::call::bundle`], collected in `engine::calls::bundle`, written in
//!   `export::bundle`, checked in `import::verify`
//! * a language whose symbols are read: [`domain::code::symbols::Language`], its grammar in `code::parse::language`,
//!   its table in `code::parse::spec`; the types of receivers in its declarations: `code::parse::bindings`. A kind of
//!   text file: its reader in `code::parse::outline`
//! * something stored: a [`store::types::Write`], its table family, a migration
//!
//! # Where things are decided
//!
//! * when a lease expires: [`Mark::after_turn`](domain::conversation::mark::Mark::after_turn), called after each answer
//!   by `engine::turns::reflect`
//! * the line that replaces an excluded message: `context::render::render_forms`, `placeholder`
//! * the header of a card: of a turn that a person kept, `engine::plans::labels`, `card_text`; of a retrieved message,
//!   `retrieval::cards`, `Piece::line`; of code, `code::find::cards`, `heading`; the heading above all retrieved
//!   messages: `engine::plans::sources::cards`, `offered`
//! * how much a source composes: [`context::enough_for`]
//! * whether the model is asked for a state block: `context::admission::state_request`; why not, in words:
//!   [`domain::planning::state_request`]
//! * the cached prefix: [`context::render::same_prefix`], from the outlines of two requests
//! * whether a call may run: [`domain::tool::consent`], by the rules of the settings; who asks:
//!   `engine::turns::consent`
//! * what undo reverts: [`domain::conversation::operation`], applied by `engine::branches::undo`
//!
//! # Glossary
//!
//! The conversation:
//!
//! * **session**: one tree of messages with its branches.
//! * **node**: one message at one place in the tree.
//! * **branch**: a named pointer to a node, its head, with marks and settings of its own.
//! * **path**: the nodes from the root to a branch's head.
//! * **turn**: a user message and everything after it, up to the next user message. The **preamble** is everything
//!   before the first user message.
//! * **episode**: an assistant message that calls tools, together with all results of those calls.
//! * **lane**: the topic or the chain of replies that a message belongs to. A branch is another continuation; a lane is
//!   another subject.
//! * **task**: a stretch of a branch that a person names.
//! * **state block**: the model's own short memory at the end of an answer. The newest one goes with the next call.
//! * **memory**: a fact, preference, outcome, or event that is stored independently of its message, for one session or
//!   for all sessions. The model suggests it or a person writes it. Only a confirmed memory is sent. All branches share
//!   it, and it never holds a secret.
//!
//! The decisions of a person or the program:
//!
//! * **mark**: a decision about an item on one branch: a **pin** stays until it is removed, a **lease** is a pin for
//!   some turns, an **exclusion** keeps an item out (always or for one call), and **include once** includes an item in
//!   one call. A mark is **active** while its message is on the branch's path and **inactive** otherwise.
//! * **suggested pin**: a message that the model named in its state block, or that the program leased again and again.
//!   It waits in the plan for a person's decision and has no effect until then.
//! * **activation**: a score for how often recent turns touched an item. A turn **touches** an item by referring to it,
//!   sending it, or finding it. Activation decides which items the program leases.
//! * **label**: a name that a person gives to a message, to find the message again. A message has at most one.
//! * **favorite**: a message that a person marked with ★, to find it again. Labels and favorites change no plan.
//! * **operation**: the changes of one action, recorded so that undo and redo can reverse and repeat them.
//!
//! The next call:
//!
//! * **request**: the bytes that are posted.
//! * **plan**: the rows of a request, solved before the call. The **basis** is a set of digests of everything that a
//!   plan was solved from.
//! * **item**: a row of a plan. It is **included** or **left out**, with a **reason**, and an item that is left out may
//!   have a **remedy**: the action that would include it, with the tokens that it adds and the items that it removes.
//! * **atom**: the smallest unit that a plan includes or leaves out, named by the keys of its messages or by a hash.
//! * **budget**: the tokens that the request and its **safety margin** may take: as a person or the policy set it,
//!   otherwise the model's window less what is reserved for the answer. The request must fit into the budget less the
//!   safety margin, which covers what no estimate can count.
//! * **policy**: the rules and numbers by which a plan is solved.
//! * **mode**: how much context the program adds automatically: Off, Light, or Heavy.
//! * **section**: a part of the request that holds items of one kind. The **layout** is the order of the sections.
//! * **window**: the recent turns that are sent. Its **start** is the oldest of them; the code calls it the anchor.
//! * **form**: how a message is sent: **full**, **shortened** (a tool result with its middle cut out), **elided**
//!   (calls named in one line, without their results), or in a **card**.
//! * **card**: an older message or turn that is sent outside the window, dated and delimited.
//! * **summary**: a text that is sent in place of the turns that it **covers**; the turns themselves stay stored. A
//!   **draft** waits for a person; an **accepted** summary goes into plans. Accepted summaries can be undone one by
//!   one.
//! * **module summary**: a summary of one part of the workspace's program.
//! * **priority level**: under the policy `levels`, a share of the budget for items that last equally long: permanent,
//!   session, working, or volatile.
//! * **retrieval set**: the record of one search of older messages or of the code: the query, the decision whether to
//!   search, and the candidates with their scores.
//! * **touchpoint**: a symbol of the workspace's code that is sent with a call, with its place and the reason it was
//!   chosen.
//! * **map**: an overview of the workspace's folders and files for the model.
//! * **focus**: the files, folders, and symbols to which the search of code is limited.
//! * **subject**: a cluster of similar questions.
//!
//! The screen:
//!
//! * **pane**: a part of the chat that can have the keyboard focus: the composer, the conversation, or a panel.
//! * **panel**: a pane beside the conversation that a person can hide and resize: branches, next request, or tools.
//! * **screen**: a list, a dialog, or an overlay that opens over the chat. The topmost one receives the keys.
//!
//! Past calls:
//!
//! * **run**: one call, recorded before it is made.
//! * **bundle**: a file with a conversation and its calls, masked, whose records are hashed in a chain.
//! * **use**: evidence that the answer of a run used an item: quoted, named, edited, its symbol mentioned, or expanded.
//! * **digest**: a BLAKE3 hash; the request digest is the hash of the bytes that were posted.
//! * **trace**: the record of one tool call: its arguments, who allowed it, and its outcome. A failed call is linked to
//!   the later call that succeeded on the same thing ([`domain::tool::resolution`]).
//! * **rerun**: a tool call that a person repeats outside the conversation.
//! * **diagnostic**: a part of an answer that could not be used as received, kept with the run in its original bytes.
//! * **profile**: one configured place to send requests to: a server, its key, and its model.
//! * **dialect**: how a server expects requests to be written. A **quirk** is a change of dialect that the program
//!   learned when a server refused a request for a model.

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
