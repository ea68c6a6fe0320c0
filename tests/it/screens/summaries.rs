//! The draft of a summary beside its sources, and the list of summaries: snapshots and requests.

use super::Stage;
use super::fixture::{self, MAIN, NOON, RETRY, node_id};
use super::pictures::pictures;
use pleach::domain::base::{Failure, Hash};
use pleach::domain::call::tokens::grouped;
use pleach::domain::conversation::{Overrides, Role};
use pleach::domain::planning::{ActPreview, ContextPlan, PlanFigures, Reason, Row, RowKind, Section, Verdict};
use pleach::domain::summary::{
    AnchorKind, AutoSummaryOverride, KeepReason, KeptSentence, MissingFact, SourceMessage, SourceTurn, Summary,
    SummaryAuthor, SummaryCard, SummaryDraft, SummaryKind, SummarySource, SummaryState, TurnCover,
};
use pleach::engine::api::{
    Answer, BranchRequest, Event, PlanAnswer, PlanRequest, Request, SummaryAct, SummaryAnswer, SummaryEvent,
};
use std::sync::Arc;

fn source_message(turn: u32, role: Role, text: &str) -> SourceMessage {
    let node = Hash::of(format!("{turn} {text}").as_bytes());
    SourceMessage { node, content: node, role, text: text.into() }
}

fn source(number: u32, asked: &str, answer: &str) -> SourceTurn {
    let messages = vec![source_message(number, Role::User, asked), source_message(number, Role::Assistant, answer)];
    SourceTurn {
        user: messages[0].node,
        tip: messages[1].node,
        number,
        node: node_id(u128::from(number)),
        title: asked.into(),
        at: NOON,
        count: 2,
        tokens: 400,
        stays: None,
        messages,
    }
}

fn sources() -> Vec<SourceTurn> {
    vec![
        source(
            1,
            "Since Thursday some users are thrown out right after they log in. Where do we look?",
            "Look at src/auth/refresh.rs first and run `cargo test --lib auth::refresh`. Two tabs race within 300 ms.",
        ),
        source(
            3,
            "The grace must never be above 1500 ms. Who decided REUSE_GRACE_MS = 0?",
            "I don't know who decided it; `git log -S REUSE_GRACE_MS` will say. The error code is AUTH-4017.",
        ),
        source(4, "日本語 too: the port is 8443, the table refresh_token has 41,000,000 rows.", "Noted."),
    ]
}

fn dropped(
    turns: &[SourceTurn],
    (turn, message): (usize, usize),
    kind: AnchorKind,
    text: &str,
    weight: u32,
) -> MissingFact {
    let (turn, from) = (&turns[turn], &turns[turn].messages[message]);
    MissingFact {
        kind,
        text: text.into(),
        sentence: from.text.clone(),
        node: from.node,
        turn: turn.number,
        role: from.role,
        times: 1,
        weight,
    }
}

const BODY: &str = "### Goals and open questions\n- [turn 1] Users are thrown out after the login.\n\n\
                    ### Decisions\n- [turn 3] The grace stays at or below `1500 ms`.\n\n### Facts\n- [turn 4] Port 8443.";

fn summary(from: &str, source: SummarySource, kept: Vec<KeptSentence>) -> Summary {
    let cover = |n: u8| TurnCover { user: Hash::of(&[n]), tip: Hash::of(&[n, n]), nodes: Vec::new() };
    let blank = Summary {
        id: Hash::default(),
        kind: SummaryKind::Lane,
        lane: String::new(),
        text: Some(from.to_owned()),
        source,
        model: (source == SummarySource::Llm).then(|| "gpt-4.1-mini".to_owned()),
        prompt_version: 1,
        confidence: 640,
        generated_at: NOON,
        covers: vec![cover(1), cover(3), cover(4)],
        turns: (1, 4),
        files: Vec::new(),
        source_hash: Hash::default(),
        parent: None,
        original_tokens: 1_212,
        tokens: 144,
        kept,
    };
    blank.sealed()
}

fn draft(number: u64, kept: Vec<KeptSentence>) -> Arc<SummaryDraft> {
    let turns = sources();
    let items = vec![
        dropped(&turns, (1, 0), AnchorKind::Question, "Who decided REUSE_GRACE_MS = 0?", 7),
        dropped(&turns, (0, 1), AnchorKind::Command, "cargo test --lib auth::refresh", 5),
        dropped(&turns, (1, 1), AnchorKind::ErrorCode, "AUTH-4017", 3),
        dropped(&turns, (2, 0), AnchorKind::Number, "41,000,000", 1),
    ];
    let items: Vec<MissingFact> = items.into_iter().skip(kept.len()).collect();
    Arc::new(SummaryDraft {
        number,
        branch: MAIN,
        summary: summary(BODY, SummarySource::Llm, kept),
        body: BODY.into(),
        dropped: items.into(),
        checked: 11,
        sources: turns.into(),
        stays: vec![(2, KeepReason::Leased)],
        masked: 1,
        run: None,
        cause: Some("32 messages had no summary, more than 30".into()),
        warnings: vec!["1 secret was masked in the sources first.".into()],
    })
}

/// A draft in which every text from outside is `words`.
pub(super) fn hostile(words: &str) -> Arc<SummaryDraft> {
    let plain = draft(9, vec![kept()]);
    let mut sources = plain.sources.to_vec();
    sources[0].messages[0].text = words.into();
    let item = MissingFact { text: words.into(), sentence: words.into(), ..plain.dropped[0].clone() };
    let line = KeptSentence { text: words.into(), ..kept() };
    Arc::new(SummaryDraft {
        summary: Summary { model: Some(words.into()), ..summary(words, SummarySource::Llm, vec![line]) },
        body: words.into(),
        dropped: vec![item].into(),
        sources: sources.into(),
        cause: Some(words.into()),
        warnings: vec![words.into()],
        ..(*plain).clone()
    })
}

/// The same for a list of summaries.
pub(super) fn hostile_list(words: &str) -> Vec<SummaryCard> {
    let one = card(words, (1, 4), SummaryState::StaleLag, 2);
    let made = Summary { lane: words.into(), model: Some(words.into()), ..(*one.summary).clone() };
    vec![SummaryCard { summary: Arc::new(made), ..one }]
}

fn kept() -> KeptSentence {
    let turns = sources();
    KeptSentence {
        text: "Who decided REUSE_GRACE_MS = 0?".into(),
        node: turns[1].messages[0].node,
        turn: 3,
        who: "user".into(),
        auto: false,
    }
}

fn draft_arrives(stage: &mut Stage, draft: Option<Arc<SummaryDraft>>) {
    stage.event(Event::Summary(SummaryEvent::Draft { branch: MAIN, draft }));
}

pub(super) fn opened() -> Stage {
    let mut stage = fixture::opened();
    draft_arrives(&mut stage, Some(draft(3, Vec::new())));
    stage.press("f5");
    stage
}

fn acts(stage: &Stage) -> Vec<SummaryAct> {
    let of = |request: &Request| match request {
        Request::Summary { branch, act } => {
            assert_eq!(*branch, MAIN);
            Some(act.clone())
        }
        _ => None,
    };
    stage.sent.iter().filter_map(|(_, request)| of(request)).collect()
}

#[test]
fn draft_beside_its_sources() {
    let mut stage = opened();
    previewed(&mut stage, &plan_with_summary(true), None);
    pictures("draft", &mut stage);
    stage.press("space");
    draft_arrives(&mut stage, Some(draft(3, vec![kept()])));
    stage.press("j enter");
    pictures("draft_sources", &mut stage);
}

#[test]
fn single_keys_decide() {
    let mut stage = opened();
    stage.press("space j space A");
    let keep = |items: Vec<usize>| SummaryAct::Keep { draft: 3, items };
    assert_eq!(acts(&stage), [keep(vec![0]), keep(vec![1]), SummaryAct::KeepAll { draft: 3 }]);
    draft_arrives(&mut stage, Some(draft(3, vec![kept()])));
    stage.press("g space m b a x");
    assert_eq!(
        acts(&stage).last(),
        Some(&SummaryAct::Accept { draft: 3 }),
        "a model's draft is not discarded without a question"
    );
    stage.press("y");
    let wanted = [
        SummaryAct::Unkeep { draft: 3, item: 0 },
        SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(4), by: SummaryAuthor::Extractive },
        SummaryAct::UndoNewest { kind: SummaryKind::Lane },
        SummaryAct::Accept { draft: 3 },
        SummaryAct::Reject,
    ];
    assert_eq!(acts(&stage)[3..], wanted);
    draft_arrives(&mut stage, None);
    assert!(stage.model.layers.is_empty(), "a decided draft leaves the screen");
}

/// Replies to the preview of accepting the draft: the plan afterward, and why it leaves out the summary.
fn previewed(stage: &mut Stage, after: &ContextPlan, left_out: Option<&str>) {
    let before = fixture::plan(&fixture::story());
    let figures = PlanFigures::of(after, &before, None, None);
    let found = ActPreview {
        branch: MAIN,
        present: before.id,
        est: before.est_total,
        result: Ok(figures),
        left_out: left_out.map(str::to_owned),
    };
    let wanted = |r: &Request| matches!(r, Request::Plan(PlanRequest::PreviewSummary { number: 3, .. }));
    stage.reply(wanted, PlanAnswer::Preview(Box::new(found)));
}

/// The plan of the fixture once it sends a summary (or leaves it out) instead of its first turn.
fn plan_with_summary(is_sent: bool) -> ContextPlan {
    let mut plan = fixture::plan(&fixture::story());
    let row = fixture::row(b"summary", Section::LaneSummary, 144, "summary of turns 1–4 (llm)", Reason::Summary);
    let mut row = Row { kind: RowKind::Summary, ..row };
    let out = || Verdict::Out { needed: 0, remedy: None };
    if is_sent {
        let turn = plan.rows.iter_mut().find(|row| row.kind == RowKind::Turn && row.included()).unwrap();
        turn.verdict = out();
        plan.est_total -= 110;
    } else {
        (row.verdict, row.reason) = (out(), Reason::SavesNothing);
    }
    plan.rows.push(row);
    plan.id = Hash::of(&[u8::from(is_sent)]);
    plan
}

fn plan_arrives(stage: &mut Stage, plan: ContextPlan) {
    let generation = stage.model.plan.generation;
    stage.event(Event::Planned { branch: MAIN, generation, planned: fixture::planned(plan) });
}

#[test]
fn acceptance_says_its_effect_before_and_after() {
    let before = fixture::plan(&fixture::story()).est_total;
    let sizes = |after: u32| format!("{} → {} tokens", grouped(before.into()), grouped(after.into()));
    let sizes = format!("{}; adds 1 summary, removes 1 turn.", sizes(before - 110));
    let same = "the next request stays the same, without the summary. The request would be larger with this summary than \
                without it.";
    for (is_sent, preview, effect) in [
        (true, format!("Next request if you accept: {sizes}"), format!("Next request: {sizes}")),
        (false, format!("If you accept, {same}"), same.replacen('t', "T", 1)),
    ] {
        let mut stage = opened();
        assert!(stage.screen(120, 35).contains("Previewing the next request"));
        let why = Reason::SavesNothing.sentence();
        previewed(&mut stage, &plan_with_summary(is_sent), Some(why.as_str()).filter(|_| !is_sent));
        let screen = stage.screen(250, 40);
        assert!(screen.contains(&preview), "{preview}: {screen}");
        assert_eq!(
            stage.sent.iter().filter(|(_, r)| matches!(r, Request::Plan(PlanRequest::PreviewSummary { .. }))).count(),
            1
        );
        stage.press("a");
        draft_arrives(&mut stage, None);
        let done = "Accepted the summary of turns 1–4; u undoes it.";
        let accepts = |r: &Request| matches!(r, Request::Summary { act: SummaryAct::Accept { .. }, .. });
        stage.reply(accepts, Answer::Done(done.into()));
        let notice = |stage: &Stage| stage.model.status.shown().map(|shown| shown.text.clone());
        assert_eq!(notice(&stage).as_deref(), Some(done), "the plan is not known yet");
        plan_arrives(&mut stage, plan_with_summary(is_sent));
        assert_eq!(notice(&stage), Some(format!("{done} {effect}")));
        stage.press("esc");
        plan_arrives(&mut stage, fixture::plan(&fixture::story()));
        assert_eq!(notice(&stage), None, "it is said once");
    }
}

#[test]
fn the_list_says_why_a_summary_is_not_sent() {
    let mut stage = fixture::opened();
    plan_arrives(&mut stage, plan_with_summary(false));
    stage.type_text("/summary").press("enter");
    let listed = |r: &Request| matches!(r, Request::Summary { act: SummaryAct::List, .. });
    let made = summary(BODY, SummarySource::Llm, Vec::new());
    let card = SummaryCard { included: true, summary: Arc::new(made), ..card(BODY, (1, 4), SummaryState::Fresh, 2) };
    stage.reply(listed, SummaryAnswer::Summaries(vec![card]));
    let screen = stage.screen(120, 35);
    assert!(screen.contains("The request would be larger with this summary than without it."), "{screen}");
    plan_arrives(&mut stage, plan_with_summary(true));
    assert!(stage.screen(120, 35).contains("Included in the next request."));
}

#[test]
fn refused_edit_is_kept() {
    let mut stage = opened();
    stage.press("e").type_text("Note: ").press("ctrl-d");
    let text = format!("Note: {BODY}");
    assert_eq!(acts(&stage), [SummaryAct::Edit { draft: 3, text: text.clone() }]);
    let ticket = stage.sent.last().unwrap().0;
    let failure = Failure::user("It would save nothing.").kept("Nothing was changed.");
    stage.event(Event::Answer { ticket, result: Err(failure) });
    stage.press("ctrl-d");
    assert_eq!(acts(&stage).last(), Some(&SummaryAct::Edit { draft: 3, text }), "the text is in the editor again");
}

#[test]
fn draft_is_announced_once_and_withdrawn() {
    let mut stage = fixture::opened();
    draft_arrives(&mut stage, Some(draft(3, Vec::new())));
    let screen = stage.screen(160, 40);
    assert!(
        screen.contains("A summary draft of turns 1–4 is waiting: ") && screen.contains("F5 opens it."),
        "{screen}"
    );
    assert!(screen.contains("summary drafted, F5"), "it stays visible");
    draft_arrives(&mut stage, None);
    let screen = stage.screen(160, 40);
    assert!(!screen.contains("A summary draft of") && !screen.contains("summary drafted"), "{screen}");
    stage.event(Event::Summary(SummaryEvent::Draft { branch: RETRY, draft: Some(draft(4, Vec::new())) }));
    assert!(!stage.screen(160, 40).contains("summary drafted"), "another branch's draft is shown there");
}

#[test]
fn progress_is_shown_and_esc_stops() {
    let mut stage = fixture::opened();
    stage.type_text("/compress 4 model").press("enter");
    assert_eq!(acts(&stage), [SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(4), by: SummaryAuthor::Model }]);
    let making = Event::Summary(SummaryEvent::Progress {
        branch: MAIN,
        turns: (1, 4),
        by: SummaryAuthor::Model,
        done: 1,
        of: 3,
        tokens: 120,
    });
    stage.event(making.clone());
    pictures("draft_making", &mut stage);
    stage.press("esc");
    assert_eq!(acts(&stage).last(), Some(&SummaryAct::Stop));
    let ticket = stage.sent.iter().find(|(_, r)| matches!(r, Request::Summary { .. })).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::user("Stopped.")) });
    assert!(stage.model.layers.is_empty() && stage.model.status.shown().is_none(), "a person stopped it");
    stage.event(making).press("f5 f5");
    assert_eq!(acts(&stage).len(), 2, "the same key opens and closes, and nothing is requested twice");
    assert!(stage.screen(160, 40).contains("summarizing"));
}

#[test]
fn a_draft_that_fails_says_why() {
    let mut stage = fixture::opened();
    stage.type_text("/compress 3").press("enter");
    let ticket = stage.sent.iter().find(|(_, r)| matches!(r, Request::Summary { .. })).unwrap().0;
    stage.event(Event::Answer { ticket, result: Err(Failure::user("No sentence fits.").kept("Nothing was changed.")) });
    draft_arrives(&mut stage, None);
    assert!(stage.model.layers.is_empty());
    assert!(stage.screen(160, 40).contains("No sentence fits. Nothing was changed."));
}

#[test]
fn commands_have_words() {
    let mut stage = fixture::opened();
    stage.type_text("/compress soon").press("enter");
    assert!(acts(&stage).is_empty());
    stage.press("ctrl-c").type_text("/compress session").press("enter");
    assert_eq!(
        acts(&stage),
        [SummaryAct::Draft { kind: SummaryKind::Session, up_to: None, by: SummaryAuthor::Extractive }]
    );
    stage.press("esc").type_text("/summaries off").press("enter");
    let overrides = Overrides { auto_summaries: Some(AutoSummaryOverride::Off), ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted));
    stage.type_text("/compaction self").press("enter");
    let overrides = Overrides { auto_summaries: Some(AutoSummaryOverride::Auto), ..Overrides::default() };
    let wanted = Request::Branch(BranchRequest::Override { branch: MAIN, overrides });
    assert!(stage.sent.iter().any(|(_, request)| *request == wanted), "an earlier name");
    stage.type_text("/summaries").press("enter");
    assert_eq!(acts(&stage).last(), Some(&SummaryAct::List), "without a value it opens the list");
    let said = stage.model.status.shown().map(|shown| shown.text.clone());
    assert_eq!(said.as_deref(), Some("Automatic summaries on this branch are used at once."));
}

pub(super) fn card(text: &str, turns: (u32, u32), state: SummaryState, depth: u32) -> SummaryCard {
    let made = summary(text, SummarySource::Extractive, vec![kept()]);
    let active = depth == 2;
    let summary = Arc::new(Summary { turns, ..made });
    SummaryCard { summary, state, active, included: depth == 1, depth }
}

#[test]
fn summaries_are_listed_taken_back_and_made_again() {
    let mut stage = fixture::opened();
    stage.type_text("/summary").press("enter");
    let cards = vec![
        card("the newest\u{202e}", (1, 9), SummaryState::StaleSource, 2),
        card(BODY, (1, 6), SummaryState::Fresh, 1),
        card("the oldest", (1, 3), SummaryState::StaleLag, 0),
    ];
    stage.reply(
        |r| matches!(r, Request::Summary { act: SummaryAct::List, .. }),
        SummaryAnswer::Summaries(cards.clone()),
    );
    pictures("capsules", &mut stage);
    stage.press("m");
    stage.press("f5 j b enter");
    let by = SummaryAuthor::Extractive;
    let wanted = [
        SummaryAct::List,
        SummaryAct::Draft { kind: SummaryKind::Lane, up_to: Some(9), by },
        SummaryAct::TakeBack { summary: cards[1].summary.id },
    ];
    assert_eq!(acts(&stage), wanted);
    assert!(stage.screen(120, 30).contains("Port 8443."), "opened for reading");
    let done = Answer::Done("Taken back.".into());
    stage.reply(|r| matches!(r, Request::Summary { act: SummaryAct::TakeBack { .. }, .. }), done);
    assert_eq!(acts(&stage).last(), Some(&SummaryAct::List), "and read again");
}
