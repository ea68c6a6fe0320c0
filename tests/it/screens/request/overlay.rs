//! The overlay's list: selecting several rows, filters, order, groups, previews, marks, and suggested pins. Snapshots and
//! requests.
//! Not for: the exact request (`raw_request`).

use crate::screens::Stage;
use crate::screens::chat::sending::{ask, withdrawn};
use crate::screens::fixture::{self, MAIN, node_id};
use crate::screens::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind, Hash};
use pleach::domain::call::{
    Certainty, CodeCandidate, CodeOutcome, CodeSet, Gate, Ledger, PassReason, SkipReason, Totals, UnusedItem,
    UnusedTurns, UseCount, UseTotals,
};
use pleach::domain::code::{CodeRef, Kind, Parts};
use pleach::domain::conversation::{Atom, MarkKind};
use pleach::domain::planning::Reason;
use pleach::domain::planning::{
    ActPreview, Budget, ChangedItem, ContextPlan, Mode, MovedItem, PlanFigures, Row, RowKind, Section, Verdict,
};
use pleach::domain::tool::ToolCost;
use pleach::engine::api::{
    Act, Answer, BranchRequest, CallAnswer, CallRequest, DraftKind, Event, ItemName, PlanAnswer, PlanRequest, Planned,
    Request, ServerAct, SessionEvent, ToolRequest, TurnEvent,
};
use pleach::tui::screens::request::model::RequestScreen;
use pleach::tui::screens::tools::model::ToolsScreen;

fn plan() -> ContextPlan {
    fixture::plan(&fixture::story())
}

/// The detail pane draws a text that a person or a model wrote as the conversation does; its details show the text as
/// it is sent.
#[test]
fn texts_of_items_are_drawn_as_markdown_unless_details_are_shown() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o").screen(140, 40);
    let text = "**Rotate** the `token`:\n\n```rust\nfn rotate() {}\n```\n";
    stage.reply(|request| matches!(request, Request::Plan(PlanRequest::RowText { .. })), Answer::Text(text.into()));
    let screen = stage.screen(140, 40);
    assert!(screen.contains("Rotate the token:") && screen.contains("fn rotate() {}"), "{screen}");
    assert!(!screen.contains("```") && !screen.contains("**"), "{screen}");
    let screen = stage.press("v").screen(140, 40);
    assert!(screen.contains("**Rotate** the `token`:") && screen.contains("```rust"), "{screen}");
}

/// The budget is one number, as a person set it: in the title, in the panel, and beside the model's context.
#[test]
fn the_budget_is_named_as_it_was_set() {
    let mut stage = fixture::opened();
    let mut plan = plan();
    plan.budget = Budget::compute(33_000, None, None, Some(1_200));
    stage.type_text("a").wait(1_000);
    let planned = Answer::Plan(PlanAnswer::Planned(fixture::planned(plan)));
    stage.reply(|request| matches!(request, Request::Plan(PlanRequest::Replan { .. })), planned);
    let panel = stage.screen(140, 40);
    let screen = stage.press("ctrl-o").screen(140, 40);
    assert!(
        screen.contains("budget 1,200 of this model's 33k context, 4,096 reserved for the answer, safety margin 150"),
        "{screen}"
    );
    for screen in [panel, screen] {
        assert!(screen.contains(" of 1,200") && !screen.contains("1,050"), "{screen}");
    }
}

#[test]
fn never_used_items_are_marked() {
    let ledger = |stage: &Stage| {
        let asks = |request: &&Request| matches!(request, Request::Call(CallRequest::Ledger { .. }));
        stage.sent.iter().filter(|(_, request)| asks(&request)).count()
    };
    let mut stage = fixture::opened();
    stage.press("ctrl-o");
    assert_eq!(ledger(&stage), 0, "a conversation without records is not asked about");
    stage.press("esc");
    let nodes = fixture::story();
    let mut card = fixture::run(2, &nodes[4], &nodes[5]);
    card.uses = Some(UseCount { shown: 12, used: 3, shown_tokens: 4_100, used_tokens: 900 });
    stage.event(Event::Turn(TurnEvent::Run(Box::new(card))));
    stage.press("ctrl-o");
    assert_eq!(ledger(&stage), 1);
    let note = plan().rows[2].clone();
    let unused = UnusedItem {
        atom: note.atom,
        kind: RowKind::Note,
        title: note.title,
        pinned: true,
        unused: UnusedTurns { turns: 7, used_before: false },
        tokens: note.tokens,
    };
    let ledger = Ledger {
        branch: MAIN,
        whole: false,
        calls: Vec::new(),
        older: 0,
        totals: Totals::default(),
        uses: UseTotals { calls: 7, unused: vec![unused], ..UseTotals::default() },
    };
    let asked = |request: &Request| matches!(request, Request::Call(CallRequest::Ledger { .. }));
    stage.reply(asked, CallAnswer::Ledger(Box::new(ledger)));
    let screen = stage.screen(120, 35);
    assert_eq!(screen.matches("Never log tokens.").count(), 1, "listed once: {screen}");
    assert!(screen.contains("not used"), "{screen}");
    while !stage.screen(120, 35).contains("used in none") {
        stage.press("j");
    }
    pictures("overlay_unused", &mut stage);
    let screen = stage.screen(120, 35);
    assert!(screen.contains("sent in 7 turns") && screen.contains("p unpins it."), "{screen}");
}

fn out() -> Atom {
    plan().rows[6].atom
}

fn marks(stage: &Stage) -> Option<(Vec<ItemName>, Act)> {
    stage.sent.iter().rev().find_map(|(_, r)| match r {
        Request::Branch(BranchRequest::Mark { items, act, .. }) => Some((items.clone(), *act)),
        _ => None,
    })
}

fn preview(lost: Vec<MovedItem>) -> Box<ActPreview> {
    let sum = |items: &[MovedItem]| (u32::try_from(items.len()).unwrap(), items.iter().map(|item| item.tokens).sum());
    let gained = vec![MovedItem { kind: RowKind::Turn, title: "An older turn".into(), tokens: 340, turn: Some(1) }];
    let figures = PlanFigures {
        plan: Hash::of(b"after"),
        est: 4_753,
        certainty: Certainty::Estimated,
        budget: Budget { prompt: 7_000, safety: 1_000, ..plan().budget },
        same: Some(100),
        cost: None,
        items: 5,
        sums: [sum(&gained), sum(&lost)],
        gained,
        lost,
        changed: 1,
        changes: vec![ChangedItem {
            kind: RowKind::Turn,
            title: "A turn sent as a card".into(),
            turn: Some(11),
            before: 900,
            after: 60,
        }],
    };
    Box::new(ActPreview { branch: MAIN, present: plan().id, est: 5_213, result: Ok(figures), left_out: None })
}

fn lost() -> Vec<MovedItem> {
    let turn = |n: u32| MovedItem {
        kind: RowKind::Turn,
        title: format!("Question {n} about tabs\u{202e}"),
        tokens: 400 + n,
        turn: Some(n),
    };
    (2..10).map(turn).collect()
}

fn previews_requested(stage: &Stage) -> Vec<Request> {
    stage
        .sent
        .iter()
        .filter(|(_, r)| matches!(r, Request::Plan(PlanRequest::Preview { .. })))
        .map(|(_, r)| r.clone())
        .collect()
}

fn overlay(stage: &Stage) -> &RequestScreen {
    stage.model.layers.top().unwrap()
}

#[test]
fn effects_of_including_a_row_are_previewed() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o G");
    assert!(previews_requested(&stage).is_empty(), "not before the selection rests");
    stage.wait(100).press("k j").wait(200);
    let asked = previews_requested(&stage);
    let act = Act::Set { kind: MarkKind::IncludeOnce, toggle: false };
    let draft = pleach::engine::api::Draft::default();
    assert_eq!(
        asked,
        [Request::Plan(PlanRequest::Preview { branch: MAIN, draft, items: vec![ItemName::Atom(out())], act })]
    );
    assert!(stage.screen(120, 35).contains("Previewing i"));
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Preview { .. })), PlanAnswer::Preview(preview(lost())));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Adds 340 tokens, removes 3,244, changes others by"), "{screen}");
    assert!(screen.contains("+2,444:") && screen.contains("900 → 60"), "5,213 + 340 - 3,244 + 2,444 = 4,753: {screen}");
    assert!(screen.contains("and 3 more") && screen.contains("Question 2 about tabs⟨U+202E⟩"), "{screen}");
    pictures("ahead", &mut stage);
    assert!(marks(&stage).is_none(), "a preview changes nothing");
    stage.press("i");
    assert_eq!(
        marks(&stage),
        Some((vec![ItemName::Atom(out())], Act::Set { kind: MarkKind::IncludeOnce, toggle: true }))
    );
    stage.press("g").wait(1_000);
    assert_eq!(previews_requested(&stage).len(), 1, "included rows need no preview");
    stage.press("G").wait(1_000);
    let ticket =
        stage.sent.iter().rev().find(|(_, r)| matches!(r, Request::Plan(PlanRequest::Preview { .. }))).unwrap().0;
    let moved_on = Failure::new(FailureKind::Stale, "The branch changed.");
    stage.event(Event::Answer { ticket, result: Err(moved_on) });
    stage.wait(1_000);
    assert_eq!(previews_requested(&stage).len(), 3, "a stale answer is requested again");
}

#[test]
fn effects_of_leaving_out_an_included_row_are_previewed() {
    let answered = |stage: &mut Stage, change: fn(&mut ActPreview)| {
        let mut found = preview(lost()[..1].to_vec());
        let figures = found.result.as_mut().unwrap();
        (figures.gained, figures.sums[0]) = (Vec::new(), (0, 0));
        (figures.changed, figures.changes, figures.est) = (0, Vec::new(), 5_213 - 402);
        change(&mut found);
        stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Preview { .. })), PlanAnswer::Preview(found));
        stage.screen(120, 35)
    };
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j").wait(200);
    let last = |stage: &Stage| previews_requested(stage).pop();
    let Some(Request::Plan(PlanRequest::Preview { items, act, .. })) = last(&stage) else { panic!() };
    assert_eq!(items, [ItemName::Atom(plan().rows[2].atom)]);
    assert_eq!(act, Act::Set { kind: MarkKind::Sticky, toggle: true }, "a pinned note is unpinned");
    assert!(stage.screen(120, 35).contains("p unpins it."), "{}", stage.screen(120, 35));
    let screen = answered(&mut stage, |_| {});
    assert!(screen.contains("p unpins it and removes 402 tokens.") && screen.contains("5,213 → 4,811"), "{screen}");
    stage.press("j").wait(200);
    let Some(Request::Plan(PlanRequest::Preview { act, .. })) = last(&stage) else { panic!() };
    assert_eq!(act, Act::Set { kind: MarkKind::Exclude, toggle: true }, "a turn is left out");
    let screen = answered(&mut stage, |found| {
        let figures = found.result.as_mut().unwrap();
        figures.sums[1] = (0, 0);
        figures.est = found.est;
    });
    assert!(screen.contains("x leaves it out; the next request stays the same."), "{screen}");
}

#[test]
fn a_row_after_which_nothing_fits_has_one_sentence() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o G").wait(200);
    let mut found = preview(Vec::new());
    found.result = Err(Failure::new(FailureKind::Blocked, "Required items are 9 tokens too large."));
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Preview { .. })), PlanAnswer::Preview(found));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("no request would fit") && !screen.contains("in the next request."), "{screen}");
}

#[test]
fn the_footer_names_only_keys_that_act_on_the_row() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o");
    let footer = |stage: &mut Stage| stage.screen(120, 35).lines().last().unwrap().to_owned();
    let text = footer(&mut stage);
    assert!(text.contains("filter") && !text.contains("pin") && !text.contains("leave out"), "{text}");
    stage.press("j j");
    let text = footer(&mut stage);
    assert!(text.contains("p unpin") && text.contains("x leave out"), "it is pinned: {text}");
}

#[test]
fn the_budget_says_whose_it_is_and_what_the_answer_keeps() {
    let mut stage = fixture::opened();
    let mut branch = stage.model.branch().unwrap().clone();
    branch.overrides.budget = Some(4_000);
    stage.event(Event::Session(SessionEvent::Branch(Box::new(branch))));
    let mut other = plan();
    other.id = Hash::of(b"another plan");
    (other.budget.cap, other.budget.prompt, other.budget.safety) = (Some(4_000), 3_500, 500);
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(other) });
    stage.press("ctrl-o");
    for width in [80, 120] {
        let screen = stage.screen(width, 35);
        assert!(screen.contains("your budget 4,000 of") && screen.contains("reserved for the answer"), "{screen}");
    }
}

/// Without a cap, which the policy `window` has no need of, the keys set one.
#[test]
fn the_keys_of_a_budget_without_a_cap_are_named() {
    let mut stage = fixture::opened();
    let mut other = plan();
    other.id = Hash::of(b"another plan");
    other.budget = Budget::compute(33_000, None, None, None);
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(other) });
    let screen = stage.press("ctrl-o").screen(160, 40);
    assert!(screen.contains("; [ ] change it"), "{screen}");
}

/// The pane of a row on which marks have no effect says what changes the row, before any key is pressed.
#[test]
fn the_pane_says_what_changes_a_row_of_the_program() {
    let mut plan = plan();
    plan.id = Hash::of(b"another plan");
    let asks = Reason::StateRequested { older: false, has_state: None, optional: Some(true), by_policy: false };
    let mut block = fixture::row(b"state", Section::State, 58, "state v1", Reason::CurrentState);
    block.kind = RowKind::State;
    let asked = fixture::row(b"asks", Section::Guidelines, 49, "request for a state block", asks);
    let question = plan.rows.iter().position(|row| row.section() == Some(Section::UserMessage)).unwrap();
    plan.rows.splice(question..question, [asked, block]);
    let mut stage = fixture::opened();
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(plan) });
    stage.press("ctrl-o home");
    for (title, words) in [
        ("", "`/config path` names the files of the settings."),
        ("request for a state block", "state_block = \"auto\" in the settings asks once turns are left out"),
        ("request for a state block", "state_block is optional, so every request asks."),
        ("state v1", "`/state edit TEXT` changes it."),
        ("type here", "Change its text instead."),
    ] {
        let found = (0..40).any(|_| {
            let selected = overlay(&stage).selected().is_some_and(|(row, _)| row.title.contains(title));
            if !selected {
                stage.press("j");
            }
            selected
        });
        let screen = stage.screen(200, 50);
        assert!(found, "{title} in {screen}");
        let pane = screen.lines().filter_map(|line| Some(line.rsplit_once('\u{2502}')?.1.trim()));
        let pane = pane.collect::<Vec<_>>().join(" ");
        assert!(pane.contains(words), "{words} in {pane}");
    }
}

#[test]
fn items_that_are_included_once_are_not_called_leases() {
    let mut stage = fixture::opened();
    let shown = |stage: &mut Stage, name: &[u8], second: Option<Reason>| {
        let mut other = plan();
        other.id = Hash::of(name);
        let place = |row: &mut Row, reason: Reason| {
            (row.verdict, row.reason) = (Verdict::In { section: Section::LeasedPins }, reason);
        };
        place(&mut other.rows[3], Reason::IncludedOnce);
        if let Some(reason) = second {
            place(&mut other.rows[2], reason);
        }
        let generation = stage.model.plan.generation;
        stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(other) });
        stage.screen(120, 35)
    };
    let panel = shown(&mut stage, b"once", None);
    assert!(panel.contains("Included once") && !panel.contains("Leases"), "{panel}");
    let both = shown(&mut stage, b"both", Some(Reason::Ephemeral));
    assert!(both.contains("Leases, included once"), "{both}");
    stage.press("ctrl-o");
    assert!(stage.screen(120, 35).contains("Leases, included once"));
}

#[test]
fn several_rows_are_selected_and_changed_in_one_step() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o");
    stage.press("space");
    assert!(stage.screen(120, 35).contains("This row is a text of the settings"), "instructions cannot be marked");
    stage.press("j j space space");
    let rows = plan().rows;
    let two: Vec<ItemName> = [rows[2].atom, rows[3].atom].map(ItemName::Atom).into();
    assert_eq!(overlay(&stage).selection.len(), 2);
    pictures("taken", &mut stage);
    stage.press("x");
    assert_eq!(marks(&stage), Some((two.clone(), Act::Set { kind: MarkKind::Exclude, toggle: false })));
    let mut other = plan();
    other.id = Hash::of(b"another plan");
    other.rows[3].verdict = Verdict::Out { needed: 0, remedy: None };
    let at = overlay(&stage).selected_atom();
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(other) });
    assert_eq!(overlay(&stage).selection.len(), 2, "the selection survives a new plan");
    assert_eq!(overlay(&stage).selected_atom(), at, "and so does the cursor");
    stage.press("V");
    assert_eq!(overlay(&stage).selection.len(), 3, "everything that can be marked: the note, the turn, the older turn");
    stage.wait(500);
    let Some(Request::Plan(PlanRequest::Preview { items, .. })) = previews_requested(&stage).pop() else { panic!() };
    assert_eq!(items.len(), 2, "the left-out rows of the selection");
    stage.press("P");
    let all: Vec<ItemName> = overlay(&stage).selected_atoms().into_iter().map(ItemName::Atom).collect();
    assert_eq!(marks(&stage), Some((all, Act::Lease { toggle: false })));
    stage.press("esc");
    assert!(overlay(&stage).selection.is_empty(), "Esc clears the selection first");
    stage.press("j space V V");
    assert!(overlay(&stage).selection.is_empty(), "all and none");
    stage.press("esc");
    assert!(stage.model.layers.is_empty());
    stage.press("ctrl-o g j j space p");
    let pinned = Act::Set { kind: MarkKind::Sticky, toggle: true };
    assert_eq!(
        marks(&stage),
        Some((vec![ItemName::Atom(rows[2].atom)], pinned)),
        "a mark that all of them have is removed"
    );
}

#[test]
fn rows_are_filtered_ordered_and_grouped() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o /").type_text("kind:turn section:recent");
    assert_eq!(overlay(&stage).entries.len(), 2, "a heading and the turn");
    stage.press("enter V");
    assert_eq!(overlay(&stage).selection.len(), 1, "all filtered rows");
    stage.press("esc esc /").type_text("reason:outside older");
    assert_eq!(overlay(&stage).entries.len(), 2);
    stage.press("enter esc /").type_text("nowhere");
    assert!(overlay(&stage).entries.is_empty());
    stage.press("esc t o");
    assert!(stage.screen(120, 35).contains("by kind, most tokens first"));
    pictures("grouped", &mut stage);
    stage.press("t t g");
    let tokens: Vec<u32> = (0..plan().rows.len())
        .map(|_| {
            let tokens = overlay(&stage).selected().unwrap().0.tokens;
            stage.press("j");
            tokens
        })
        .collect();
    assert!(tokens.is_sorted_by(|a, b| a >= b), "{tokens:?}");
    stage.press("esc ctrl-o");
    assert!(stage.screen(120, 35).contains("without headings, most tokens first"), "the order is kept");
}

#[test]
fn tools_are_listed_with_costs_and_switched() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j x");
    let mut with = plan();
    (with.id, with.tools) = (Hash::of(b"with tools"), 250);
    let tool = |name: &str, tokens, on| ToolCost { name: name.into(), tokens, on };
    with.tool_costs =
        vec![tool("read_file", 120, true), tool("mcp__web__fetch", 130, true), tool("mcp__web__search", 90, false)];
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(with) });
    let screen = stage.screen(120, 35);
    assert!(screen.contains("2, 1 disabled") && !screen.contains("mcp__web__fetch"), "{screen}");
    while !overlay(&stage).on_tools() {
        stage.press("j");
    }
    stage.press("x");
    let screen = stage.screen(120, 35);
    assert!(screen.contains("Enter lists the tools; x disables or enables a tool"));
    assert!(screen.contains("Enter list the tools"), "the line of keys: {screen}");
    let narrow = stage.screen(44, 20).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(narrow.contains("Enter lists the tools; x disables or enables a tool."), "on two rows: {narrow}");
    assert!(!stage.press("ctrl-t").screen(120, 35).contains("lists the tools;"), "about another screen");
    assert!(!stage.press("esc").screen(120, 35).contains("lists the tools;"));
    stage.press("enter j j");
    pictures("tools-in-a-plan", &mut stage);
    stage.press("p");
    assert!(stage.screen(120, 35).contains("includes the tool, or none does"));
    assert_eq!(marks(&stage).map(|(_, act)| act), Some(Act::Set { kind: MarkKind::Exclude, toggle: true }), "no other");
    stage.press("x");
    let switched = |stage: &Stage| match stage
        .sent
        .iter()
        .rev()
        .find(|(_, r)| matches!(r, Request::Tool(ToolRequest::Servers(..))))
    {
        Some((_, Request::Tool(ToolRequest::Servers(_, ServerAct::Switch { keys, on })))) => (keys.clone(), *on),
        other => panic!("{other:?}"),
    };
    assert_eq!(switched(&stage), (vec!["mcp__web__fetch".to_owned()], false));
    stage.press("j x");
    assert_eq!(switched(&stage), (vec!["mcp__web__search".to_owned()], true), "a disabled tool is enabled again");
    stage.press("enter");
    assert!(stage.model.layers.on::<ToolsScreen>(), "Enter: the tool's own description");
}

/// The row of the search of the code shows the decision and the numbers; `v` adds the query and the candidates.
#[test]
fn the_row_of_the_code_search_shows_its_set() {
    let mut whole = plan();
    let mut search = whole.rows.last().unwrap().clone();
    search.atom = Atom::code_search();
    (search.kind, search.title) = (RowKind::Search, "search of 1,200 symbols of the code".into());
    (search.reason, search.items) = (Reason::NoCode { because: SkipReason::Faint }, Vec::new());
    whole.rows = vec![search];
    let candidate = |rank: u32, name: &str, outcome: CodeOutcome| {
        let (path, file) = ("src/a.rs".to_owned(), Hash::of(b"file"));
        let code = CodeRef { path, qualified: name.into(), kind: Kind::Function, lines: (1, 3), nth: 0, file };
        let (score_parts, because) =
            (Parts { words: 2.5, ..Parts::default() }, "matching the word \"lease\"".to_owned());
        CodeCandidate { code, rank, score: 2.5, score_parts, matched: Vec::new(), because, tokens: 9, outcome }
    };
    let set = CodeSet {
        id: Hash::default(),
        query: "where does a lease expire".into(),
        filters: Hash::default(),
        workspace: Hash::default(),
        gate: Gate::Pass(PassReason::Matches),
        mode: Mode::Heavy,
        focus: Vec::new(),
        among: 1_200,
        embedder: None,
        candidates: vec![candidate(1, "expire", CodeOutcome::Sent), candidate(2, "renew", CodeOutcome::Below)],
    };
    let mut planned = fixture::planned(whole);
    let Planned::Plan { code_set, .. } = &mut planned else { panic!() };
    *code_set = Some(std::sync::Arc::new(set.with_id()));
    let mut stage = fixture::opened();
    stage.type_text("x").wait(100);
    stage.reply(|r| matches!(r, Request::Plan(PlanRequest::Replan { .. })), PlanAnswer::Planned(planned));
    stage.press("ctrl-o");
    let screen = stage.screen(140, 40);
    assert!(screen.contains("Searched 1,200 symbols: symbols contain enough of the"), "{screen}");
    assert!(screen.contains("1 symbol sent, 1 near miss") && !screen.contains("where does a lease expire"), "{screen}");
    stage.press("v");
    let screen = stage.screen(140, 40);
    for words in
        ["query: where does a lease expire", "1. expire", "src/a.rs:1-3", "2.50: sent", "2. renew", "near miss"]
    {
        assert!(screen.contains(words), "{words} in {screen}");
    }
}

#[test]
fn rows_at_five_sizes() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j j enter");
    stage.reply(
        |request| matches!(request, Request::Plan(PlanRequest::RowText { .. })),
        Answer::Text("user: Why does login fail after the refresh?\n\nassistant: Let me look.\u{200b}".into()),
    );
    pictures("overlay", &mut stage);
}

#[test]
fn overlay_acts_on_rows_and_their_messages() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o j j j");
    stage.press("x");
    let marks = |stage: &Stage| {
        stage.sent.iter().rev().find_map(|(_, r)| match r {
            Request::Branch(BranchRequest::Mark { items, .. }) => Some(items.clone()),
            _ => None,
        })
    };
    let rows = fixture::plan(&fixture::story()).rows;
    assert_eq!(marks(&stage), Some(vec![ItemName::Atom(rows[3].atom)]));
    stage.press("enter j j j x");
    let tool = fixture::story()[2].head.key;
    assert_eq!(
        marks(&stage),
        Some(vec![ItemName::Atom(pleach::domain::conversation::mark::Atom::Message { node: tool })])
    );
    stage.press("]");
    let raised = stage.sent.iter().rev().find_map(|(_, r)| match r {
        Request::Branch(BranchRequest::Override { overrides, .. }) => overrides.budget,
        _ => None,
    });
    assert_eq!(raised, None, "9,000 is the most that this window leaves");
    assert!(stage.screen(120, 35).contains("The budget stays at 9,000 tokens."));
    stage.press("e");
    assert!(stage.model.layers.is_empty());
    assert_eq!(stage.model.composer.first_line(), "Why does login fail after the refresh?");
    stage.press("enter");
    assert_eq!(ask(&stage).0.kind, DraftKind::Edit(node_id(1)));
    stage.press("esc");
    withdrawn(&mut stage);
    stage.press("esc");
    assert!(stage.model.composer.is_empty());
}

/// Esc ends the filter of the request overlay; the cursor stays on the row that the filter found.
#[test]
fn the_cursor_stays_on_the_found_row_when_the_filter_ends() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o /").type_text("older turn about").press("enter");
    let found = |stage: &Stage| stage.model.layers.top::<RequestScreen>().unwrap().selected_atom();
    let row = found(&stage);
    assert!(row.is_some());
    stage.press("esc");
    assert_eq!(found(&stage), row);
}

#[test]
fn suggested_pin_is_dismissed_with_one_key() {
    let mut stage = fixture::opened();
    stage.press("ctrl-o");
    let screen = stage.screen(120, 30);
    assert!(screen.contains("Suggested pins 1"), "{screen}");
    let dismissed = |stage: &Stage| {
        stage.sent.iter().rev().find_map(|(_, request)| match request {
            Request::Branch(BranchRequest::Dismiss { branch, item }) => Some((*branch, item.clone())),
            _ => None,
        })
    };
    stage.press("g d");
    assert_eq!(dismissed(&stage), None, "only suggestions can be dismissed");
    let overlay = stage.model.layers.top::<pleach::tui::screens::request::model::RequestScreen>().unwrap();
    let rows = overlay.entries.len();
    for _ in 0..rows {
        if dismissed(&stage).is_none() {
            stage.press("j d");
        }
    }
    let atom = Atom::Section { text: pleach::domain::base::hash::Hash::of(b"sug") };
    assert_eq!(dismissed(&stage), Some((MAIN, ItemName::Atom(atom))));
}
