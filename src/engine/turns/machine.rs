//! A turn as a pure state machine: inputs in, effects out. No I/O, no clock, no threads.
//! Not for: carrying effects out (`effects`).
//!
//! The course of a turn: run opened → first event (the user message becomes a node) → stream → end. An answer that
//! calls tools keeps its run open until all results have arrived; the calling message and the results are committed
//! together. Then the grown turn is planned and sent again, up to a maximum number of rounds.

use crate::domain::call::{CallEnd, Delta, Outcome, ProviderErrorKind};
use crate::domain::conversation::{Content, End, Part};
use crate::domain::tool::ToolOutput;
use serde::{Deserialize, Serialize};

/// The phase of a turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The call is running.
    Calling,
    /// Tools are running.
    Tools,
    /// The next round is being planned.
    Planning,
    /// The turn is over.
    Closed,
}

/// An input of the turn machine.
#[derive(Clone, PartialEq, Debug)]
pub enum TurnInput {
    /// A piece of the answer arrived.
    Delta(Delta),
    /// The call ended.
    Ended(Outcome),
    /// A tool ended.
    ToolDone {
        /// The index of the call in its answer.
        index: usize,
        /// The tool's result.
        output: ToolOutput,
    },
    /// The next round's run is open.
    RoundOpened,
    /// The next round cannot be sent.
    RoundRefused,
    /// A person stops the turn.
    Cancel,
}

/// An effect to carry out.
#[derive(Clone, PartialEq, Debug)]
pub enum Effect {
    /// Store the user message as a node and make it the branch's head.
    CommitUser,
    /// Stop the running call or the running tools.
    Stop,
    /// Run these calls of the answer: index, name, arguments.
    RunTools(Vec<(usize, String, String)>),
    /// Store the answer as a node and close the run.
    CommitAnswer {
        /// The content of the answer.
        content: Content,
        /// How the answer ended.
        end: End,
    },
    /// Store the answer and the results as nodes in call order, and close the run.
    CommitEpisode {
        /// The calling message.
        content: Content,
        /// The results, one per call.
        results: Vec<Content>,
    },
    /// Close the run without a node.
    CloseRun,
    /// Plan the grown turn and send it.
    NextRound,
    /// Close the turn.
    Close {
        /// Whether to return the draft, because no answer arrived.
        draft_back: bool,
        /// Whether the turn ended with a complete answer.
        completed: bool,
    },
}

/// A tool call that arrives in pieces.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PartialCall {
    /// The index of the call in the answer, as the server numbers it.
    pub index: u32,
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments so far.
    pub args: String,
}

/// The parts of an answer that have arrived.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Arrived {
    pub text: String,
    pub reasoning: String,
    /// Tool calls.
    pub calls: Vec<PartialCall>,
}

impl Arrived {
    /// Adds a piece.
    pub fn add(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) => self.text.push_str(text),
            Delta::Reasoning(text) => self.reasoning.push_str(text),
            Delta::Call { index, id, name, args } => {
                let at = self.calls.iter().position(|call| call.index == *index).unwrap_or_else(|| {
                    self.calls.push(PartialCall { index: *index, ..PartialCall::default() });
                    self.calls.len() - 1
                });
                let call = &mut self.calls[at];
                if let Some(id) = id.as_ref().filter(|id| !id.is_empty() && call.id.is_empty()) {
                    call.id.clone_from(id);
                }
                if let Some(name) = name {
                    call.name.push_str(name);
                }
                call.args.push_str(args);
            }
            Delta::Tick | Delta::Accepted | Delta::Usage(_) | Delta::Diagnostic(_) | Delta::Retry { .. } => {}
        }
    }

    /// Whether nothing arrived.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty() && self.reasoning.is_empty() && self.calls.is_empty()
    }

    /// Returns the answer as a message without calls. Calls are kept in `extra` as incomplete.
    pub fn without_calls(&self) -> Content {
        let mut content = self.spoken();
        if !self.calls.is_empty() {
            content.extra = Some(serde_json::json!({ "incomplete_calls": self.calls }));
        }
        content
    }

    /// Returns the answer as a message with its calls. Calls without an id get one.
    pub fn with_calls(&self) -> Content {
        let mut content = self.spoken();
        for (at, call) in self.calls.iter().enumerate() {
            let id = if call.id.is_empty() { format!("call-{}", at + 1) } else { call.id.clone() };
            content.parts.push(Part::Call { id, name: call.name.clone(), args: call.args.clone() });
        }
        content
    }

    fn spoken(&self) -> Content {
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(Part::Reasoning { text: self.reasoning.clone() });
        }
        if !self.text.is_empty() {
            parts.push(Part::Text { text: self.text.clone() });
        }
        Content { parts, extra: None }
    }
}

/// The state of a turn.
#[derive(Clone, PartialEq, Debug)]
pub struct TurnState {
    /// The phase: the event that the turn waits for.
    pub phase: Phase,
    /// The round, from 1.
    pub round: u32,
    /// The maximum number of rounds; no model call follows the last round.
    pub rounds: u32,
    /// The text received in this round.
    pub arrived: Arrived,
    /// Whether the user message is a node, or there is none to store.
    pub committed: bool,
    /// The results that have arrived, by call.
    pub results: Vec<Option<ToolOutput>>,
    /// Whether a person stopped the turn.
    pub cancelled: bool,
}

impl TurnState {
    /// Returns a turn whose first run is open.
    pub fn new(rounds: u32, has_user: bool) -> Self {
        Self {
            phase: Phase::Calling,
            round: 1,
            rounds,
            arrived: Arrived::default(),
            committed: !has_user,
            results: Vec::new(),
            cancelled: false,
        }
    }
}

/// Advances a turn by one input and returns the effects to carry out.
pub fn step(turn: &mut TurnState, event: TurnInput) -> Vec<Effect> {
    match (turn.phase, event) {
        (Phase::Calling, TurnInput::Delta(delta)) => arrive(turn, &delta),
        (Phase::Calling | Phase::Tools, TurnInput::Cancel) => {
            turn.cancelled = true;
            vec![Effect::Stop]
        }
        (Phase::Calling, TurnInput::Ended(outcome)) => ended(turn, &outcome),
        (Phase::Tools, TurnInput::ToolDone { index, output }) => tool_done(turn, index, output),
        (Phase::Planning, TurnInput::RoundOpened) => {
            turn.phase = Phase::Calling;
            turn.round += 1;
            turn.arrived = Arrived::default();
            turn.results.clear();
            if turn.cancelled { vec![Effect::Stop] } else { Vec::new() }
        }
        (Phase::Planning, TurnInput::RoundRefused) => {
            let nothing_yet = !turn.committed;
            close(turn, nothing_yet, false)
        }
        (Phase::Planning, TurnInput::Cancel) => {
            turn.cancelled = true;
            Vec::new()
        }
        // Inputs after the end, or in a phase that does not expect them, are ignored.
        (Phase::Closed | Phase::Tools | Phase::Planning | Phase::Calling, _) => Vec::new(),
    }
}

fn arrive(turn: &mut TurnState, delta: &Delta) -> Vec<Effect> {
    let before = turn.arrived.is_empty();
    turn.arrived.add(delta);
    if before && !turn.arrived.is_empty() { commit_user(turn) } else { Vec::new() }
}

fn commit_user(turn: &mut TurnState) -> Vec<Effect> {
    if std::mem::replace(&mut turn.committed, true) { Vec::new() } else { vec![Effect::CommitUser] }
}

fn close(turn: &mut TurnState, draft_back: bool, completed: bool) -> Vec<Effect> {
    turn.phase = Phase::Closed;
    vec![Effect::Close { draft_back, completed }]
}

fn ended(turn: &mut TurnState, outcome: &Outcome) -> Vec<Effect> {
    if turn.arrived.is_empty() {
        let another_body = matches!(outcome.error.as_ref().map(|e| &e.kind), Some(ProviderErrorKind::Body(_)));
        let mut effects = vec![Effect::CloseRun];
        if another_body && !turn.cancelled {
            turn.phase = Phase::Planning;
            turn.round = turn.round.saturating_sub(1);
            effects.push(Effect::NextRound);
        } else {
            let nothing_yet = !turn.committed;
            effects.extend(close(turn, nothing_yet, false));
        }
        return effects;
    }
    let named = turn.arrived.calls.iter().all(|call| !call.name.is_empty());
    let end = match outcome.end {
        CallEnd::Complete if !named => End::Errored,
        CallEnd::Complete => End::Complete,
        CallEnd::Truncated => End::Truncated,
        CallEnd::Errored => End::Errored,
        CallEnd::Cancelled => End::Cancelled,
    };
    if end == End::Complete && !turn.arrived.calls.is_empty() && !turn.cancelled {
        return call_tools(turn);
    }
    let content = turn.arrived.without_calls();
    let mut effects = vec![Effect::CommitAnswer { content, end }];
    effects.extend(close(turn, false, end == End::Complete));
    effects
}

fn call_tools(turn: &mut TurnState) -> Vec<Effect> {
    turn.phase = Phase::Tools;
    turn.results = vec![None; turn.arrived.calls.len()];
    let calls = turn.arrived.calls.iter().enumerate();
    vec![Effect::RunTools(calls.map(|(at, call)| (at, call.name.clone(), call.args.clone())).collect())]
}

fn tool_done(turn: &mut TurnState, index: usize, output: ToolOutput) -> Vec<Effect> {
    if let Some(slot) = turn.results.get_mut(index).filter(|slot| slot.is_none()) {
        *slot = Some(output);
    }
    if turn.results.iter().any(Option::is_none) {
        return Vec::new();
    }
    let content = turn.arrived.with_calls();
    let calls: Vec<(String, String)> = content.calls().map(|(id, name, _)| (id.to_owned(), name.to_owned())).collect();
    let bodies = turn.results.drain(..).map(|output| output.map(|o| o.body).unwrap_or_default());
    let results = calls
        .into_iter()
        .zip(bodies)
        .map(|((call, name), body)| Content { parts: vec![Part::Reply { call, name, body }], extra: None })
        .collect();
    let mut effects = vec![Effect::CommitEpisode { content, results }];
    if turn.cancelled || turn.round >= turn.rounds {
        effects.extend(close(turn, false, false));
    } else {
        turn.phase = Phase::Planning;
        effects.push(Effect::NextRound);
    }
    effects
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::base::cases::cases;
    use crate::domain::call::provider::ProviderError;
    use crate::domain::tool::trace::ToolStatus;
    use proptest::prelude::*;

    fn outcome(end: CallEnd, error: Option<ProviderErrorKind>) -> Outcome {
        let error = error.map(|kind| ProviderError { kind, what: "no".into(), hint: String::new(), status: None });
        Outcome { any: true, error, ..Outcome::of(end) }
    }

    /// Pieces of several calls arrive interleaved: indexes, ids, and pieces of names and arguments.
    #[test]
    fn pieces_of_calls_are_joined() {
        let mut arrived = Arrived::default();
        for (index, id, name, args) in [
            (3, Some(""), Some("read"), ""),
            (1, Some("one"), Some("list_dir"), "{"),
            (3, Some("three"), Some("_file"), "{\"path\""),
            (1, Some("other"), None, "}"),
            (3, None, None, ":1}"),
        ] {
            let (id, name) = (id.map(str::to_owned), name.map(str::to_owned));
            arrived.add(&Delta::Call { index, id, name, args: args.into() });
        }
        let calls: Vec<_> = arrived.calls.iter().map(|c| (c.index, &c.id[..], &c.name[..], &c.args[..])).collect();
        assert_eq!(calls, [(3, "three", "read_file", "{\"path\":1}"), (1, "one", "list_dir", "{}")]);
    }

    fn done(index: usize) -> TurnInput {
        let output = ToolOutput { status: ToolStatus::Ok, body: format!("result {index}"), full_bytes: 8 };
        TurnInput::ToolDone { index, output }
    }

    fn call(index: u32, name: &str) -> TurnInput {
        let name = (!name.is_empty()).then(|| name.to_owned());
        TurnInput::Delta(Delta::Call { index, id: None, name, args: "{}".into() })
    }

    fn events() -> impl Strategy<Value = TurnInput> {
        let ends = prop_oneof![
            4 => Just(CallEnd::Complete),
            1 => Just(CallEnd::Truncated),
            1 => Just(CallEnd::Errored),
            1 => Just(CallEnd::Cancelled)
        ];
        let errors = prop_oneof![
            4 => Just(None),
            1 => Just(Some(ProviderErrorKind::Server)),
            1 => Just(Some(ProviderErrorKind::Body(crate::domain::call::model::Quirk::NoTools)))
        ];
        prop_oneof![
            3 => "[a-z]{0,4}".prop_map(|text| TurnInput::Delta(Delta::Text(text))),
            1 => Just(TurnInput::Delta(Delta::Accepted)),
            1 => Just(TurnInput::Delta(Delta::Reasoning("hm".into()))),
            3 => (0_u32..3, prop_oneof![3 => Just("read"), 1 => Just("")]).prop_map(|(index, name)| call(index, name)),
            3 => (ends, errors).prop_map(|(end, error)| TurnInput::Ended(outcome(end, error))),
            5 => (0_usize..4).prop_map(done),
            2 => Just(TurnInput::RoundOpened),
            1 => Just(TurnInput::RoundRefused),
            1 => Just(TurnInput::Cancel),
        ]
    }

    /// Checks the invariants of each step's effects.
    fn check(turn: &TurnState, effects: &[Effect], users: &mut u32, closes: &mut u32) {
        for effect in effects {
            match effect {
                Effect::CommitUser => *users += 1,
                Effect::CommitEpisode { content, results } => {
                    let calls: Vec<&str> = content.calls().map(|(id, _, _)| id).collect();
                    let replies: Vec<&str> = results
                        .iter()
                        .flat_map(|result| &result.parts)
                        .filter_map(|part| match part {
                            Part::Reply { call, .. } => Some(call.as_str()),
                            _ => None,
                        })
                        .collect();
                    assert_eq!(calls, replies, "a result for each call, in their order");
                    assert!(!calls.is_empty());
                }
                Effect::CommitAnswer { content, end } => {
                    assert_eq!(content.calls().count(), 0);
                    let nameless = turn.arrived.calls.iter().any(|call| call.name.is_empty());
                    assert!(!(nameless && *end == End::Complete), "a call without a name is no success");
                }
                Effect::Close { draft_back, completed } => {
                    *closes += 1;
                    assert!(!(*draft_back && (*completed || turn.committed)));
                }
                Effect::Stop | Effect::RunTools(_) | Effect::CloseRun | Effect::NextRound => {}
            }
        }
        assert_eq!(turn.phase == Phase::Closed, *closes == 1);
        assert!(*users <= 1 && *closes <= 1);
    }

    proptest! {
        #![proptest_config(cases(400))]
        #[test]
        fn any_order_of_events_keeps_atoms_whole(
            events in proptest::collection::vec(events(), 0..60), rounds in 1_u32..4, has_user: bool
        ) {
            let mut turn = TurnState::new(rounds, has_user);
            let (mut users, mut closes) = (0, 0);
            for event in events {
                let effects = step(&mut turn, event);
                check(&turn, &effects, &mut users, &mut closes);
                prop_assert!(turn.round <= rounds);
            }
            // A canceled turn ends from any state.
            for event in [TurnInput::Cancel, TurnInput::Ended(outcome(CallEnd::Cancelled, None)), done(0), done(1), done(2)] {
                let effects = step(&mut turn, event);
                check(&turn, &effects, &mut users, &mut closes);
            }
            let effects = step(&mut turn, TurnInput::RoundRefused);
            check(&turn, &effects, &mut users, &mut closes);
            prop_assert_eq!(turn.phase, Phase::Closed);
        }
    }

    #[test]
    fn a_refused_second_form_returns_the_draft() {
        let mut turn = TurnState::new(4, true);
        let body = ProviderErrorKind::Body(crate::domain::call::model::Quirk::NoTools);
        let effects = step(&mut turn, TurnInput::Ended(outcome(CallEnd::Errored, Some(body))));
        assert_eq!(effects, [Effect::CloseRun, Effect::NextRound]);
        let effects = step(&mut turn, TurnInput::RoundRefused);
        assert_eq!(effects, [Effect::Close { draft_back: true, completed: false }]);
    }

    #[test]
    fn a_stopped_turn_is_not_sent_in_another_form() {
        for (kind, cancelled, again) in [
            (Some(ProviderErrorKind::Body(crate::domain::call::model::Quirk::NoTools)), false, true),
            (Some(ProviderErrorKind::Body(crate::domain::call::model::Quirk::NoTools)), true, false),
            (Some(ProviderErrorKind::Server), false, false),
            (None, false, false),
        ] {
            let mut turn = TurnState::new(4, true);
            if cancelled {
                assert_eq!(step(&mut turn, TurnInput::Cancel), [Effect::Stop]);
            }
            let effects = step(&mut turn, TurnInput::Ended(outcome(CallEnd::Errored, kind.clone())));
            let then = if again { Effect::NextRound } else { Effect::Close { draft_back: true, completed: false } };
            assert_eq!(effects, [Effect::CloseRun, then], "{kind:?} {cancelled}");
            assert_eq!((turn.phase == Phase::Planning, turn.round), (again, u32::from(!again)));
        }
    }

    /// A model of the whole machine: the effects of one answer, by the parts that arrived and the way it ended.
    #[test]
    fn the_end_of_a_turn_follows_from_what_arrived_and_how_the_call_ended() {
        let ends = [CallEnd::Complete, CallEnd::Truncated, CallEnd::Errored, CallEnd::Cancelled];
        for end in ends {
            for (words, calls) in
                [("", &[][..]), ("x", &[]), ("", &["read"]), ("x", &["read", "list"]), ("x", &["read", ""])]
            {
                for cancelled in [false, true] {
                    let mut turn = TurnState::new(2, true);
                    let mut effects = step(&mut turn, TurnInput::Delta(Delta::Text(words.into())));
                    for (index, name) in (0_u32..).zip(calls) {
                        effects.extend(step(&mut turn, call(index, name)));
                    }
                    let something = !words.is_empty() || !calls.is_empty();
                    assert_eq!(
                        effects == [Effect::CommitUser],
                        something,
                        "the first piece makes the question a message"
                    );
                    if cancelled {
                        step(&mut turn, TurnInput::Cancel);
                    }
                    let effects = step(&mut turn, TurnInput::Ended(outcome(end, None)));
                    let nameless = calls.contains(&"");
                    let runs = end == CallEnd::Complete && !calls.is_empty() && !nameless && !cancelled;
                    let expected = match (something, runs) {
                        (false, _) => "nothing",
                        (true, true) => "tools",
                        (true, false) => "answer",
                    };
                    let seen = match effects.as_slice() {
                        [Effect::CloseRun, Effect::Close { draft_back: true, completed: false }] => "nothing",
                        [Effect::RunTools(all)] if all.len() == calls.len() => "tools",
                        [
                            Effect::CommitAnswer { content, end: ended },
                            Effect::Close { draft_back: false, completed },
                        ] => {
                            assert_eq!(*completed, *ended == End::Complete);
                            assert_eq!(*ended == End::Complete, end == CallEnd::Complete && !nameless);
                            assert_eq!(
                                content.extra.is_some(),
                                !calls.is_empty(),
                                "calls that are not made are kept aside"
                            );
                            "answer"
                        }
                        other => panic!("{other:?}"),
                    };
                    assert_eq!(seen, expected, "{end:?} {words:?} {calls:?} {cancelled}");
                }
            }
        }
    }
}
