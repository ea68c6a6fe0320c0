//! Plans of generated histories under every policy, mode, and layout: each row with its reason and remedy, the
//! differences from a variant of the call, and the request's digest.

use super::same;
use crate::context::scenarios;
use crate::support::talk::{self, MarkTarget, OwnText, Quarter, SearchResults, Talk, TalkMessage};
use pleach::context::explain::cause::{self, ChangesBetweenCalls};
use pleach::context::explain::variant;
use pleach::context::render::edited;
use pleach::context::{already_in, plan, render};
use pleach::domain::base::Hash;
use pleach::domain::call::Encoding;
use pleach::domain::conversation::{MarkKind, Role};
use pleach::domain::planning::row_matching::{deltas, settings};
use pleach::domain::planning::{
    Adaptive, Anchor, ContextPlan, Flag, Form, Lanes, Layout, Levels, MessageFacts, Mode, PlanFigures, PlanInput,
    PolicySpec, RequestShape, Row, Section, SendBarrier, Task, TaskRelation, TurnFacts, TurnSelection,
};
use std::fmt::Write as _;

/// Deterministic pseudo-random numbers (`SplitMix64`).
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % most
    }

    fn size(&mut self, most: u64) -> usize {
        usize::try_from(self.below(most)).unwrap()
    }

    fn small(&mut self, from: u32, to: u32) -> u32 {
        from + u32::try_from(self.below(u64::from(to - from))).unwrap()
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.size(of.len() as u64)].clone()
    }

    fn chance(&mut self, one_in: u64) -> bool {
        self.below(one_in) == 0
    }
}

fn text(dice: &mut Dice, name: &str, most: u64) -> String {
    format!("{name} {}", "words of it ".repeat(1 + dice.size(most)).trim_end())
}

fn turn(dice: &mut Dice, number: usize) -> Vec<TalkMessage> {
    let mut messages = vec![TalkMessage {
        image: dice.chance(14),
        ..TalkMessage::new(Role::User, text(dice, &format!("t{number}q"), 14))
    }];
    if dice.chance(16) {
        messages.push(TalkMessage::new(Role::System, "foreign orders"));
    }
    for round in 0..dice.size(3) {
        let ids: Vec<String> = (0..=dice.size(2)).map(|at| format!("c{round}{at}")).collect();
        let names: Vec<&str> = ids.iter().map(String::as_str).collect();
        messages.push(TalkMessage::calling(if dice.chance(2) { "I look." } else { "" }, &names));
        for id in names {
            if !dice.chance(9) {
                messages.push(TalkMessage::result(id, "line of output\n".repeat(dice.size(120))));
            }
        }
    }
    let state = if dice.chance(5) { "\n\n---STATE---\ngoal: done\n---END STATE---" } else { "" };
    messages.push(TalkMessage::new(Role::Assistant, format!("{}{state}", text(dice, &format!("t{number}a"), 40))));
    let bar = dice.one(&[None, None, None, None, None, None, Some(SendBarrier::Hidden), Some(SendBarrier::Removed)]);
    let at = dice.size(messages.len() as u64);
    messages[at].bar = bar;
    messages
}

fn facts(dice: &mut Dice, many: u32, number: usize) -> TurnFacts {
    let age = u64::from(many - u32::try_from(number).unwrap()) * (60 + dice.below(900));
    let flags = [Flag::Error, Flag::Code, Flag::Question, Flag::Solution, Flag::Long, Flag::Technical];
    let later = dice.small(0, 4);
    TurnFacts {
        lane: dice.one(&["", "", "a"]).into(),
        age,
        task: dice.one(&[Task::General, Task::Coding, Task::Debugging, Task::Research, Task::ComplexAnalysis]),
        messages: vec![MessageFacts { role: Role::User, age, flags: vec![dice.one(&flags), dice.one(&flags)] }],
        mentions: (later, later + dice.small(0, 3)),
        similarity: Some(i32::try_from(dice.small(0, 1_000)).unwrap() - 100),
        priority: u8::try_from(dice.small(0, 100)).unwrap(),
        part: dice.one(&[TaskRelation::None, TaskRelation::Running, TaskRelation::Done]),
        ..TurnFacts::default()
    }
}

fn marks(dice: &mut Dice, turns: &[Vec<TalkMessage>]) -> Vec<(MarkTarget, MarkKind)> {
    let kinds = [
        MarkKind::Sticky,
        MarkKind::leased(2),
        MarkKind::leased(0),
        MarkKind::Ephemeral,
        MarkKind::Exclude,
        MarkKind::ExcludeOnce,
        MarkKind::IncludeOnce,
    ];
    let mut marks = Vec::new();
    for (at, messages) in turns.iter().enumerate() {
        match dice.below(9) {
            0 => marks.push((MarkTarget::Turn(at), dice.one(&kinds))),
            1 => marks.push((MarkTarget::Message(at, dice.size(messages.len() as u64)), dice.one(&kinds))),
            _ => {}
        }
    }
    if dice.chance(3) {
        marks.push((MarkTarget::Note("note of the person".into()), dice.one(&kinds[..4])));
    }
    if dice.chance(3) {
        marks.push((MarkTarget::Memory("m1 is what was remembered".into()), dice.one(&kinds)));
    }
    marks
}

fn policies() -> Vec<PolicySpec> {
    let mut all: Vec<PolicySpec> =
        pleach::config::policies::load(std::path::Path::new("none of one's own")).unwrap().into_values().collect();
    for spec in &mut all {
        spec.levels = Levels { total: 3_000, permanent: 375, session: 750, working: 1_500, ..spec.levels };
        spec.adaptive = Adaptive { base: 700, ..spec.adaptive.clone() };
    }
    let small = PolicySpec {
        name: "small".into(),
        choose: TurnSelection::Lane,
        lanes: Lanes { messages: 5, ..Lanes::default() },
        leased_cap_tokens: 60,
        refill_percent: 50,
        ..PolicySpec::default()
    };
    all.push(small);
    all
}

fn own(dice: &mut Dice) -> Vec<OwnText> {
    let mut own = vec![OwnText { section: Section::System, text: "Be exact.".into() }];
    for (section, text) in [
        (Section::Guidelines, "own-rules always test"),
        (Section::State, "goal: ship it"),
        (Section::Orientation, "map of src"),
        (Section::Orientation, "rules of the folder"),
        (Section::Retrieved, "fn main() {}"),
        (Section::QuotedReply, "what was said"),
    ] {
        if dice.chance(3) {
            own.push(OwnText { section, text: text.repeat(1 + dice.size(4)) });
        }
    }
    own
}

#[allow(clippy::too_many_lines, reason = "one conversation, put together from its parts")]
fn history(seed: u64) -> Talk {
    let mut dice = Dice(seed);
    let many = 3 + dice.size(9);
    let turns: Vec<Vec<TalkMessage>> = (0..many).map(|number| turn(&mut dice, number)).collect();
    let all = policies();
    let policy = all[usize::try_from(seed).unwrap() % all.len()].clone();
    let marks = marks(&mut dice, &turns);
    let free: Vec<usize> = (0..many / 2)
        .filter(|at| {
            !marks.iter().any(|(on, _)| matches!(on, MarkTarget::Turn(of) | MarkTarget::Message(of, _) if of == at))
        })
        .collect();
    let summary = (dice.chance(3) && !free.is_empty()).then(|| (free.clone(), text(&mut dice, "summary", 20)));
    let session = (dice.chance(4) && !free.is_empty()).then(|| (free, text(&mut dice, "session", 9)));
    let facts = (0..many).map(|number| facts(&mut dice, u32::try_from(many).unwrap(), number)).collect();
    let place = |dice: &mut Dice| (dice.size(many as u64), 0);
    let mut fits: Vec<(usize, usize)> = (0..dice.size(5)).map(|_| place(&mut dice)).collect();
    fits.sort_unstable();
    fits.dedup();
    let search_results = SearchResults {
        fits,
        memories: (1..=dice.size(3)).map(|n| format!("m{n} is what was remembered")).collect(),
        suggested: vec![place(&mut dice)],
    };
    let mut talk = Talk {
        turns,
        facts,
        marks,
        own: own(&mut dice),
        open: if dice.chance(4) {
            vec![
                TalkMessage::new(Role::User, "what now"),
                TalkMessage::calling("", &["o1", "o2"]),
                TalkMessage::result("o1", "output\n".repeat(60)),
            ]
        } else {
            vec![TalkMessage::new(Role::User, text(&mut dice, "now", 6))]
        },
        state_request: dice.chance(3).then(|| "keep the state".to_owned()),
        inactive_marks: if dice.chance(4) { vec![(MarkKind::Sticky, 40), (MarkKind::Exclude, 9)] } else { Vec::new() },
        summary,
        session,
        names: (dice.chance(3), dice.chance(3)),
        gap: dice.chance(6).then(|| (1, dice.small(2, 30))),
        policy,
        window_turns: dice.one(&[0, 0, 0, 2, 4]),
        mode: dice.one(&[Mode::Off, Mode::Light, Mode::Light, Mode::Heavy]),
        layout: dice.one(&[Layout::Classic, Layout::CacheFriendly]),
        budget: dice.one(&[60, 220, 400, 700, 1_200, 2_500, 9_000]),
        tools: dice.size(3),
        lane: dice.one(&["", "a"]).into(),
        search_results,
        ..Talk::default()
    };
    talk.dialect.strict_alternation = dice.chance(4);
    talk.dialect.instruction_role = dice.one(&["system", "system", "developer", "user"]).into();
    talk.dialect.tools = !dice.chance(6);
    if dice.chance(2) {
        let (start, to) = (dice.size(many as u64), dice.size(many as u64));
        let form = dice.one(&[Form::Full, Form::Cut(300), Form::Elided]);
        let shortened_to = (form != Form::Full).then(|| talk.key(to, 0));
        let (budget, policy) = (talk.budget, talk.policy.name.clone());
        talk.anchor =
            Some(Anchor { start: talk.key(start, 0), shortened_to, form, budget, policy, summaries: Vec::new() });
    }
    talk
}

/// A plan with everything its request is made of.
struct Solved {
    input: PlanInput,
    plan: ContextPlan,
    wire: Vec<u8>,
    outline: render::Outline,
}

fn solve(talk: &Talk, out: &mut String) -> Option<Solved> {
    let (input, bag) = talk::build_input(talk, Encoding::Approximate, &Quarter);
    let before = already_in(&PlanInput { allowance: 100, ..input.clone() }, false)
        .map(|known| (known.rows.len(), known.closed.len()));
    let _ = writeln!(
        out,
        "== {} {} {} budget {} window {} {} tools, already in {before:?}",
        talk.policy.name,
        talk.mode.title(),
        talk.layout.name(),
        talk.budget,
        talk.window_turns,
        talk.tools
    );
    match plan(&input) {
        Err(blocked) => {
            let _ = writeln!(out, "{}", scenarios::blocked_text(&blocked));
            None
        }
        Ok(plan) => {
            let (wire, outline) = render::render(&plan, &input.shape, &bag).unwrap();
            let anchor = plan.anchor.as_ref().map(|anchor| (anchor.form, anchor.budget, anchor.shortened_to.is_some()));
            let _ = writeln!(out, "{}", scenarios::plan_text(&plan, &[]));
            let _ = writeln!(
                out,
                "framing {} tools {} anchor {anchor:?} digest {}",
                plan.framing,
                plan.tools,
                Hash::of(&wire.bytes).short()
            );
            Some(Solved { input, plan, wire: wire.bytes.to_vec(), outline })
        }
    }
}

fn label(row: &Row) -> String {
    format!("{} {:?} {}", row.kind.name(), row.source.turn, row.tokens)
}

/// The differences between two calls, with causes.
fn differences(before: &Solved, after: &Solved, out: &mut String) {
    let (found, (same, tokens)) = deltas(&before.plan, &after.plan, &|_, _| false);
    let on_path = |_: Hash| true;
    let between = ChangesBetweenCalls { steps: &[], ops: &[], on_path: &on_path, name: "main" };
    let _ = writeln!(out, "-- {same} rows of {tokens} tokens are the same");
    for delta in &found {
        let causes: Vec<String> = cause::causes(delta, &before.plan, &after.plan, &between)
            .iter()
            .map(|cause| format!("{}: {}", cause.by.title(), cause.words))
            .collect();
        let _ =
            writeln!(out, "{} {}: {}; {}", delta.kind().title(), delta.label(), delta.to_text("→"), causes.join(" | "));
    }
    for setting in settings(&before.plan, &after.plan) {
        let _ = writeln!(out, "{}: {} → {}", setting.name, setting.before, setting.after);
    }
    let prefix = render::same_prefix(&before.outline, &after.outline);
    let other = render::first_other(&before.outline, &after.outline).is_some();
    let figures = PlanFigures::of(&after.plan, &before.plan, Some(prefix), None);
    let moved = |of: &[pleach::domain::planning::what_if::MovedItem]| {
        of.iter().map(|item| format!("{}:{}", item.kind.name(), item.tokens)).collect::<Vec<_>>().join(" ")
    };
    let _ = writeln!(
        out,
        "prefix {prefix} {} other {other}; {} items, gained {} lost {} {:?} changed {}",
        figures.same_text(),
        figures.items,
        moved(&figures.gained),
        moved(&figures.lost),
        figures.sums,
        figures.changed
    );
}

/// The call without its first and last row, for another model, and edited by hand.
fn changed(solved: &Solved, out: &mut String) {
    let Solved { input, plan, wire, outline, .. } = solved;
    let rows: Vec<&Row> = plan.included().collect();
    for row in [rows.first(), rows.get(rows.len() / 2), rows.last()].into_iter().flatten() {
        let less = variant::without_item(plan, &input.shape, row.atom);
        let changes = less
            .map(|less| variant::with_total(less.clone(), less.est_total + 3))
            .map(|less| (less.est_total, less.framing, less.included().count()));
        let _ = writeln!(out, "without {}: {changes:?}", label(row));
    }
    let shape = RequestShape { model: "other".into(), ..input.shape.clone() };
    let asked = variant::for_model(plan, &shape, "profile", plan.budget);
    let _ = writeln!(out, "asking {} {} {}", asked.model, asked.est_total, asked.id == plan.id);
    let body = String::from_utf8(wire.clone()).unwrap();
    let base = edited::PlannedRequest { plan, body: &body, outline };
    let mut value: serde_json::Value = serde_json::from_str(&body).unwrap();
    let messages = value["messages"].as_array_mut().unwrap();
    let last = messages.len() - 1;
    messages[last]["content"] = "typed by hand".into();
    if last > 2 {
        messages.remove(1);
    }
    messages.insert(0, serde_json::json!({"role": "user", "content": "put before"}));
    let Some((made, outline)) = edited::edited(base, &value.to_string(), &Quarter) else { return };
    let changes: Vec<String> = made
        .rows
        .iter()
        .map(|row| format!("{}{}/{}", if row.included() { "+" } else { "-" }, label(row), row.reason.name()))
        .collect();
    let _ = writeln!(
        out,
        "edited {} framing {} pieces {}: {}",
        made.est_total,
        made.framing,
        outline.len(),
        changes.join(", ")
    );
}

#[test]
fn generated_histories() {
    for part in 0..4 {
        let mut out = String::new();
        for seed in part * 14..(part + 1) * 14 {
            let talk = history(seed);
            let _ = writeln!(out, "#### {seed}");
            let Some(first) = solve(&talk, &mut out) else { continue };
            changed(&first, &mut out);
            let again = match seed % 4 {
                0 => Talk { mode: talk.mode.next(), ..talk.clone() },
                1 => Talk { budget: talk.budget * 2 / 3, ..talk.clone() },
                2 => Talk { marks: Vec::new(), layout: Layout::CacheFriendly, ..talk.clone() },
                _ => Talk { policy: policies().swap_remove(0), summary: None, ..talk.clone() },
            };
            if let Some(second) = solve(&again, &mut out) {
                differences(&first, &second, &mut out);
            }
        }
        same(&format!("plans_{part}"), &out);
    }
}

/// A request as sent, for each role of instructions.
#[test]
fn requests_as_they_are_sent() {
    let mut out = String::new();
    for seed in [3, 8, 11, 17] {
        let talk = Talk { budget: 700, ..history(seed) };
        for (role, strict) in [("system", false), ("developer", false), ("user", true)] {
            let mut talk = talk.clone();
            talk.dialect.instruction_role = role.into();
            talk.dialect.strict_alternation = strict;
            let Some(solved) = solve(&talk, &mut String::new()) else { continue };
            let body: serde_json::Value = serde_json::from_slice(&solved.wire).unwrap();
            let _ = writeln!(out, "== {seed} {role} {}", if strict { "strict" } else { "" });
            for (key, value) in body.as_object().unwrap().iter().filter(|(key, _)| *key != "messages") {
                let _ = writeln!(out, "{key}: {value}");
            }
            for message in body["messages"].as_array().unwrap() {
                let _ = writeln!(out, "{}", message.to_string().chars().take(400).collect::<String>());
            }
        }
    }
    same("requests", &out);
}
