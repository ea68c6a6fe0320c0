//! Every reason in words, who decided it, and the causes that are shown for an item whose reason, form, or place
//! changed: with nothing between two calls, after each kind of act, and under other settings.

use super::same;
use pleach::context::explain::cause::{self, ChangesBetweenCalls};
use pleach::context::explain::transition;
use pleach::domain::base::ids::MemoryId;
use pleach::domain::base::{BranchId, Hash, SessionId};
use pleach::domain::call::{Certainty, Encoding, SkipReason};
use pleach::domain::conversation::{
    Actor, Atom, Change, ItemState, Memory, Operation, Overrides, Role, Subject, Transition,
};
use pleach::domain::planning::row_matching::deltas;
use pleach::domain::planning::{
    Basis, Budget, ContextPlan, Form, Item, Layout, Mode, Reason, Remedy, Row, RowKind, Scores, Section, Source,
    Verdict,
};
use std::fmt::Write as _;
use uuid::Uuid;

fn skips() -> [SkipReason; 7] {
    use SkipReason::{Common, Faint, Indexing, NoContent, NotWanted, NothingToFind, Unknown};
    [NotWanted, Indexing, NothingToFind, NoContent, Unknown, Common, Faint]
}

/// Reasons for including an item.
fn inclusion_reasons() -> Vec<Reason> {
    use Reason as R;
    vec![
        R::Instructions,
        R::Configured,
        R::Guideline,
        R::StateRequested { older: true, has_state: Some(false), optional: None, by_policy: false },
        R::CurrentState,
        R::Open,
        R::Sticky,
        R::Leased { left: 2, engine: false },
        R::Leased { left: 2, engine: true },
        R::Ephemeral,
        R::ErrorBefore,
        R::ErrorResolved,
        R::Recent,
        R::Relevant,
        R::WorkingLevel,
        R::Pending,
        R::IncludedOnce,
        R::FilesReverted,
        R::Replied,
        R::GoOn,
        R::Retrieved { rank: 3 },
        R::Searched { among: 1_200 },
        R::CodeMap,
        R::Touchpoint { rank: 2, because: "parse".into() },
        R::CodeSearched { among: 4_000 },
        R::KeptCode { rank: 2 },
        R::Summary,
        R::Memory { always: false },
        R::ProjectRules { folder: "src/".into(), changed: false, left: 0 },
        R::OwnRules { changed: true, left: 7 },
        R::Skills { count: 2 },
        R::Module { by: "the user".into(), staleness: "fresh".into() },
        R::ConversationInstructions { imported: false, once: false },
        R::WrittenByPerson,
    ]
}

/// Reasons for leaving an item out.
fn exclusion_reasons() -> Vec<Reason> {
    use Reason as R;
    let because = SkipReason::Common;
    vec![
        R::NoCode { because },
        R::StaleFile,
        R::CodeReading,
        R::SwitchedOff,
        R::SuggestedByModel,
        R::SuggestedByRating,
        R::SuggestedByRenewals { renewals: 3 },
        R::Budget { free: 12 },
        R::Allowance { tokens: 900 },
        R::OutsideWindow,
        R::Superseded { by: Hash::of(b"summary"), turns: None },
        R::Superseded { by: Hash::of(b"summary"), turns: Some((1, 4)) },
        R::Superseded { by: Hash::of(b"summary"), turns: Some((3, 3)) },
        R::SavesNothing,
        R::DisplacesTurn { turn: 3 },
        R::StaleSummary,
        R::UserExcluded { once: false },
        R::UserExcluded { once: true },
        R::TtlExpired,
        R::LeaseCap { cap: 800 },
        R::OffPath,
        R::Hidden,
        R::ForeignInstructions,
        R::ModelCannot,
        R::Removed,
        R::Duplicate,
        R::ModeOff,
        R::NotSearched { because },
        R::BelowThreshold,
        R::Unrelated,
        R::TooLarge,
        R::OtherLane,
        R::OutsideLane,
        R::LaneCount { messages: 6 },
        R::SoftTarget { tokens: 700 },
        R::LevelFull { budget: 600 },
        R::SummaryLimit,
        R::SessionFull { budget: 400 },
        R::LevelsOver { percent: 90 },
        R::RemovedByPerson,
    ]
}

#[test]
fn every_reason_is_in_the_tables() {
    let source = syn::parse_file(include_str!("../../../src/domain/planning/reason.rs")).unwrap();
    let reasons = source.items.iter().find_map(|item| match item {
        syn::Item::Enum(item) if item.ident == "Reason" => Some(item),
        _ => None,
    });
    let listed: Vec<String> = [inclusion_reasons(), exclusion_reasons()].concat().iter().map(variant).collect();
    let missing = reasons.unwrap().variants.iter().map(|variant| variant.ident.to_string());
    assert_eq!(missing.filter(|name| !listed.contains(name)).collect::<Vec<_>>(), [""; 0]);
}

/// The name of a reason's variant.
fn variant(reason: &Reason) -> String {
    format!("{reason:?}").chars().take_while(char::is_ascii_alphanumeric).collect()
}

#[test]
fn reasons_in_words() {
    let mut out = String::new();
    let (inclusions, exclusions) = (inclusion_reasons(), exclusion_reasons());
    let more = [
        Reason::StateRequested { older: false, has_state: None, optional: None, by_policy: false },
        Reason::StateRequested { older: false, has_state: None, optional: Some(false), by_policy: false },
        Reason::StateRequested { older: false, has_state: None, optional: Some(true), by_policy: false },
        Reason::StateRequested { older: false, has_state: None, optional: Some(false), by_policy: true },
        Reason::StateRequested { older: true, has_state: Some(true), optional: None, by_policy: false },
        Reason::StateRequested { older: true, has_state: None, optional: None, by_policy: false },
        Reason::ConversationInstructions { imported: true, once: false },
        Reason::ConversationInstructions { imported: true, once: true },
        Reason::Leased { left: 1, engine: false },
        Reason::Touchpoint { rank: 1, because: String::new() },
        Reason::Memory { always: true },
        Reason::ProjectRules { folder: ".".into(), changed: true, left: 12_000 },
        Reason::OwnRules { changed: false, left: 0 },
        Reason::Skills { count: 1 },
    ];
    let skips = skips().into_iter().flat_map(|because| [Reason::NoCode { because }, Reason::NotSearched { because }]);
    for reason in inclusions.into_iter().chain(exclusions).chain(more).chain(skips) {
        let (label, by) = (reason.label(), reason.decided_by());
        let _ = writeln!(out, "{} [{label}] {by:?}: {}", reason.name(), reason.sentence());
    }
    let remedy = Remedy { action: "pin".into(), does: "pins it".into() };
    let _ = writeln!(out, "{}", remedy.sentence("p"));
    same("reasons", &out);
}

const KINDS: [RowKind; 18] = [
    RowKind::Text,
    RowKind::State,
    RowKind::Note,
    RowKind::Preamble,
    RowKind::Turn,
    RowKind::Card,
    RowKind::Summary,
    RowKind::Quote,
    RowKind::Range,
    RowKind::Message,
    RowKind::Part,
    RowKind::Search,
    RowKind::Memory,
    RowKind::Request,
    RowKind::Rules,
    RowKind::Skills,
    RowKind::Module,
    RowKind::Code,
];

fn memory_id() -> MemoryId {
    MemoryId(Uuid::from_u128(5))
}

/// The atom of a row of this kind.
fn atom(kind: RowKind) -> Atom {
    let (user, tip) = (Hash::of(b"user"), Hash::of(b"tip"));
    match kind {
        RowKind::Turn | RowKind::Card => Atom::Turn { user, tip },
        RowKind::Message => Atom::Message { node: user },
        RowKind::Preamble => Atom::Preamble { first: user },
        RowKind::Range => Atom::Range { first: user, last: tip },
        RowKind::Memory => pleach::domain::conversation::memory::atom(memory_id()),
        kind => Atom::Section { text: Hash::of(kind.name().as_bytes()) },
    }
}

fn row(kind: RowKind, reason: &Reason, goes: bool, tokens: u32, form: Form) -> Row {
    let (key, title) = (Hash::of(b"user"), String::new());
    let item = |key, form| {
        let title = String::new();
        Item { key, node: None, role: Role::User, form, tokens, title, calls: 0, orphan: false }
    };
    let turns = matches!(kind, RowKind::Turn | RowKind::Card);
    Row {
        atom: atom(kind),
        kind,
        verdict: if goes { Verdict::In { section: Section::Recent } } else { Verdict::Out { needed: 0, remedy: None } },
        reason: reason.clone(),
        tokens,
        title,
        source: Source::default(),
        pin: None,
        items: if turns { vec![item(key, Form::Full), item(Hash::of(b"tip"), form)] } else { Vec::new() },
        turns: 1,
        text: None,
        scores: Scores::default(),
    }
}

fn plan(row: Option<Row>) -> ContextPlan {
    let zero = Hash::default();
    ContextPlan {
        id: zero,
        basis: Basis { head: zero, marks: zero, draft: zero, wire: zero, frozen: zero },
        input_digest: zero,
        policy: "layered".into(),
        policy_version: 1,
        mode: Mode::Light,
        layout: Layout::Classic,
        profile: "p".into(),
        model: "m".into(),
        encoding: Encoding::O200kBase,
        certainty: Certainty::Estimated,
        budget: Budget::compute(8_000, None, None, None),
        est_total: 0,
        framing: 0,
        tools: 0,
        level_budgets: None,
        tool_costs: Vec::new(),
        rows: row.into_iter().collect(),
        anchor: None,
        retrieval_set_ids: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Single acts between two calls, by name.
fn acts(about: Atom) -> Vec<(&'static str, Operation)> {
    let (branch, session) = (BranchId(Uuid::from_u128(2)), SessionId(Uuid::from_u128(1)));
    let memory: Memory = serde_json::from_value(serde_json::json!({
        "id": memory_id(), "kind": "fact", "text": "a", "scope": "all",
        "source": {"by": "user"}, "status": "confirmed", "version": 1, "created_at": 0, "updated_at": 0,
    }))
    .unwrap();
    let mark = |target| Change::Mark { branch, target, before: None, after: None };
    let act = |what: &str, change| {
        let what = what.to_owned();
        Operation { seq: 1, session, what, changes: vec![change], undone: false, at: 7 }
    };
    let other = Atom::Section { text: Hash::of(b"something else") };
    let settings = Change::Overrides { branch, before: Box::default(), after: Box::new(Overrides::default()) };
    vec![
        ("mark", act("marked it", mark(about))),
        ("message", act("marked its message", mark(Atom::Message { node: Hash::of(b"tip") }))),
        ("other", act("marked another", mark(other))),
        ("undone", Operation { undone: true, ..act("marked it", mark(about)) }),
        ("head", act("moved", Change::Head { branch, before: None, after: None })),
        ("fork", act("forked", Change::Forked { branch })),
        ("settings", act("set", settings)),
        ("summary", act("summed up", Change::Summaries { branch, before: vec![], after: vec![] })),
        ("state", act("edited the state", Change::State { branch, before: None, after: None })),
        ("memory", act("edited a memory", Change::Memory { before: None, after: Some(Box::new(memory)) })),
    ]
}

/// The later plan under other settings.
fn settings(after: &ContextPlan) -> Vec<(&'static str, ContextPlan)> {
    let budget = |cap| Budget::compute(8_000, None, None, cap);
    vec![
        ("mode", ContextPlan { mode: Mode::Heavy, ..after.clone() }),
        ("policy", ContextPlan { policy: "window".into(), ..after.clone() }),
        ("version", ContextPlan { policy_version: 2, ..after.clone() }),
        ("model", ContextPlan { model: "n".into(), ..after.clone() }),
        ("less", ContextPlan { budget: budget(Some(2_000)), ..after.clone() }),
        ("layout", ContextPlan { layout: Layout::CacheFriendly, ..after.clone() }),
    ]
}

fn causes(before: &ContextPlan, after: &ContextPlan, ops: &[Operation], on_path: bool) -> String {
    let on_path = |_: Hash| on_path;
    let between = ChangesBetweenCalls { steps: &[], ops, on_path: &on_path, name: "main" };
    let (found, _) = deltas(before, after, &|_, _| false);
    let write_causes = found.iter().map(|delta| {
        let causes = cause::causes(delta, before, after, &between);
        let causes = causes.iter().map(|cause| {
            let at = cause.at.map_or_else(String::new, |at| format!(" at {at}"));
            format!("{}: {}{at}", cause.by.title(), cause.words)
        });
        format!("{}: {}", delta.kind().title(), causes.collect::<Vec<_>>().join(" | "))
    });
    write_causes.collect::<Vec<_>>().join("; ")
}

/// The default causes, and the acts and settings that give others.
fn write_causes(out: &mut String, head: &str, before: Option<Row>, after: Option<Row>, about: Atom) {
    let (before, after) = (plan(before), plan(after));
    let alone = causes(&before, &after, &[], true);
    let mut others = vec![("elsewhere", causes(&before, &after, &[], false))];
    others.extend(acts(about).into_iter().map(|(name, op)| {
        let on_path = !matches!(name, "head" | "fork");
        (name, causes(&before, &after, &[op], on_path))
    }));
    others.extend(settings(&after).into_iter().map(|(name, after)| (name, causes(&before, &after, &[], true))));
    let _ = writeln!(out, "{head} {alone}");
    let mut known: Vec<String> = Vec::new();
    for (_, text) in &others {
        if *text == alone || known.contains(text) {
            continue;
        }
        let names: Vec<&str> = others.iter().filter(|(_, other)| other == text).map(|(name, _)| *name).collect();
        let _ = writeln!(out, "  {}: {text}", names.join(" "));
        known.push(text.clone());
    }
}

#[test]
fn causes_by_reason() {
    let mut out = String::new();
    let (inclusions, exclusions) = (inclusion_reasons(), exclusion_reasons());
    let (recent, old) = (Reason::Recent, Reason::OutsideWindow);
    let turn = |reason: &Reason, inclusions| Some(row(RowKind::Turn, reason, inclusions, 50, Form::Full));
    let about = atom(RowKind::Turn);
    for reason in &inclusions {
        write_causes(&mut out, &format!("+{}", reason.name()), None, turn(reason, true), about);
        write_causes(&mut out, &format!("-{} +recent", reason.name()), turn(reason, true), turn(&recent, true), about);
        write_causes(&mut out, &format!("-outside +{}", reason.name()), turn(&old, false), turn(reason, true), about);
    }
    for reason in &exclusions {
        write_causes(&mut out, &format!("recent -{}", reason.name()), turn(&recent, true), turn(reason, false), about);
        write_causes(&mut out, &format!("{} +recent", reason.name()), turn(reason, false), turn(&recent, true), about);
    }
    same("causes_by_reason", &out);
}

/// Missing, longer, or shorter items, by the kind of row.
#[test]
fn causes_by_kind() {
    let mut out = String::new();
    for kind in KINDS {
        let at = |reason: &Reason, tokens, form| Some(row(kind, reason, true, tokens, form));
        for reason in [Reason::Recent, Reason::Retrieved { rank: 1 }, Reason::ErrorResolved] {
            let before = at(&reason, 50, Form::Full);
            write_causes(&mut out, &format!("{} gone {}", kind.name(), reason.name()), before, None, atom(kind));
        }
        for (tokens, form) in [(20, Form::Full), (20, Form::Cut(9)), (80, Form::Full), (80, Form::Elided)] {
            let (before, after) = (at(&Reason::Recent, 50, Form::Full), at(&Reason::Recent, tokens, form));
            write_causes(&mut out, &format!("{} {tokens} {form:?}", kind.name()), before, after, atom(kind));
        }
    }
    let module = |staleness: &str| Reason::Module { by: "a".into(), staleness: staleness.into() };
    let shapes = inclusion_reasons().into_iter().chain([module("stale")]).map(|after| (Reason::Relevant, after));
    let own = [("stale", "fresh"), ("fresh", "stale"), ("stale", "stale"), ("stale", "older")];
    let own = own.map(|(before, after)| (module(before), module(after)));
    for (old, new) in shapes.chain(own).chain([(Reason::Open, Reason::Recent), (Reason::Open, Reason::Open)]) {
        let of = |reason: &Reason, tokens| Some(row(RowKind::Code, reason, true, tokens, Form::Full));
        let head = format!("{} > {}", old.sentence(), new.name());
        write_causes(&mut out, &head, of(&old, 50), of(&new, 60), atom(RowKind::Code));
    }
    same("causes_by_kind", &out);
}

#[test]
fn steps_in_words() {
    use ItemState::{Confirmed, Dismissed, Ephemeral, Excluded, Leased, None, Sticky, Suggested};
    let states = [None, Suggested, Dismissed, Confirmed, Ephemeral, Leased, Sticky, Excluded];
    let mut out = String::new();
    let step = |by, from, to, reason: &str| {
        let item = Subject::Item(atom(RowKind::Turn));
        transition::sentence(&Transition {
            item,
            from,
            to,
            reason: reason.into(),
            turn: Option::None,
            branch: Option::None,
            by,
            at: 5,
        })
    };
    for from in states {
        let words: Vec<String> = states.map(|to| step(Actor::User, from, to, "")).to_vec();
        let _ = writeln!(out, "{}: {}", from.name(), words.join(" "));
    }
    for (by, reason) in [(Actor::Engine, "its turn is over"), (Actor::Model, "decided by the person")] {
        let _ = writeln!(out, "{}", step(by, None, Suggested, reason));
    }
    // A step about the item, about its message, and about something else. The newest two are shown.
    let turn = |reason: &Reason, goes| plan(Some(row(RowKind::Turn, reason, goes, 50, Form::Full)));
    let (before, after) = (turn(&Reason::Sticky, true), turn(&Reason::OutsideWindow, false));
    let about = [atom(RowKind::Turn), Atom::Message { node: Hash::of(b"tip") }, Atom::Message { node: Hash::of(b"x") }];
    for (number, from) in (0..).zip(&about) {
        let one = |at: i64| {
            let item = Subject::Item(*from);
            let reason = format!("number {number}");
            (
                *from,
                Transition {
                    item,
                    from: Sticky,
                    to: None,
                    reason,
                    turn: Option::None,
                    branch: Option::None,
                    by: Actor::User,
                    at,
                },
            )
        };
        let steps = [one(1), one(2), one(3)];
        let on_path = |_: Hash| true;
        let between = ChangesBetweenCalls { steps: &steps, ops: &[], on_path: &on_path, name: "main" };
        for (before, after) in [(&before, &after), (&after, &before)] {
            for delta in deltas(before, after, &|_, _| false).0 {
                let causes = cause::causes(&delta, before, after, &between);
                let _ =
                    writeln!(out, "{:?}", causes.iter().map(|c| (c.by.title(), &c.words, c.at)).collect::<Vec<_>>());
            }
        }
    }
    same("steps", &out);
}
