//! The lists of sessions and of approval rules.
//! Not for: the list of memories (`memories`).

use crate::screens::fixture;
use crate::screens::pictures::pictures;
use pleach::domain::tool::{Rule, RuleScope, Verdict};
use pleach::engine::api::{Request, RuleAct, SessionAnswer, SessionRequest, ToolAnswer, ToolRequest};

#[test]
fn sessions() {
    let mut stage = fixture::opened();
    stage.press("f3");
    let cards = vec![fixture::card("auth-bug"), fixture::card("notes for the talk")];
    stage.reply(|request| matches!(request, Request::Session(SessionRequest::List)), SessionAnswer::Sessions(cards));
    pictures("sessions", &mut stage);
}

#[test]
fn rules_are_listed_and_removed() {
    let mut stage = fixture::opened();
    stage.type_text("/rules").press("enter");
    let rule = Rule { tool: "run".into(), on: Some("cargo test*".into()), verdict: Verdict::Allow };
    let all = vec![(RuleScope::Folder, rule.clone())];
    stage.reply(|request| *request == Request::Tool(ToolRequest::Rule(RuleAct::List)), ToolAnswer::Rules(all));
    assert!(stage.screen(100, 30).contains("allow run \"cargo test*\""));
    stage.press("alt-d");
    let gone = Request::Tool(ToolRequest::Rule(RuleAct::Set { scope: RuleScope::Folder, rule, on: false }));
    assert!(stage.sent.iter().any(|(_, request)| *request == gone));
}
