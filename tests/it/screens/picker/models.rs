//! The list of models: what they support and what servers lack.
//! Not for: plans with other models (`what_if`).

use crate::screens::fixture;
use crate::screens::pictures::pictures;
use pleach::domain::base::{Failure, FailureKind};
use pleach::domain::call::{ModelInfo, Price, Supports};
use pleach::engine::api::{ProgramAnswer, ProgramRequest, Request};

/// The list of models shows what their servers say that they support, and nothing for the others.
#[test]
fn the_list_of_models_says_what_they_support() {
    let model = |name: &str, tools, reasoning| ModelInfo {
        name: name.into(),
        price: Some(Price { input: 0.4, output: 1.6, ..Price::default() }),
        supports: Supports { tools, reasoning },
        ..fixture::settings().model
    };
    let all = vec![
        model("gpt-4.1-mini", None, None),
        model("qwen3-32b", Some(true), Some(true)),
        model("gemma-3-27b-it", Some(false), Some(false)),
    ];
    let mut stage = fixture::opened_with_themes();
    stage.press("f4");
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Models { .. })),
        ProgramAnswer::Models(vec![("openai".into(), Ok(all))]),
    );
    pictures("models", &mut stage);
}

#[test]
fn an_unknown_price_is_not_blank() {
    let mut stage = fixture::opened_with_themes();
    stage.press("f4");
    let model = ModelInfo { price: None, ..fixture::settings().model };
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Models { .. })),
        ProgramAnswer::Models(vec![("openai".into(), Ok(vec![model]))]),
    );
    let screen = stage.screen(120, 35);
    assert!(screen.contains("unknown  unknown"), "{screen}");
}

/// The branch's model is in the list, marked and selected, although its server lists none; the title counts only models.
#[test]
fn the_list_of_models_has_the_model_in_use_although_no_server_lists_it() {
    let offline = ModelInfo { name: "offline".into(), ..fixture::settings().model };
    let mut stage = fixture::opened_with_themes();
    stage.press("f4");
    stage.reply(
        |request| matches!(request, Request::Program(ProgramRequest::Models { .. })),
        ProgramAnswer::Models(vec![("offline".into(), Ok(vec![offline])), ("openai".into(), Ok(Vec::new()))]),
    );
    let screen = stage.screen(120, 35);
    for words in ["Models · 2", "● gpt-4.1-mini", "Not available", "openai: the server lists no models"] {
        assert!(screen.contains(words), "{words} in {screen}");
    }
    stage.press("enter");
    let asked = |request: &Request| format!("{request:?}").contains("model: Some(\"gpt-4.1-mini\")");
    assert!(
        stage.sent.iter().any(|(_, request)| asked(request)),
        "Enter keeps the model in use: {:?}",
        stage.sent.last()
    );
}

/// Profiles that lack a key are listed too, with what they lack.
#[test]
fn the_list_of_models_says_what_servers_without_a_key_need() {
    let mut stage = fixture::opened_with_themes();
    stage.press("f4");
    let asked = Request::Program(ProgramRequest::Models { profile: None, unready: true });
    let lacks = Failure::new(FailureKind::Provider, "Profile anthropic has no key.");
    let lacks = lacks.todo("Set ANTHROPIC_API_KEY in the environment, or api_key_cmd in the settings.");
    stage.reply(
        |request| *request == asked,
        ProgramAnswer::Models(vec![
            ("openai".into(), Ok(vec![fixture::settings().model])),
            ("anthropic".into(), Err(lacks)),
        ]),
    );
    pictures("models_unready", &mut stage);
    let screen = stage.press("down enter").screen(120, 35);
    assert!(screen.contains("anthropic: no key. Set ANTHROPIC_API_KEY in the environment, or"), "{screen}");
    stage.model.status.alarm("an alarm", "The store is full.", 0);
    let others = [(120, "(1 more notice, Esc closes)"), (40, "(+1 notice · Esc)")];
    for (width, words) in others {
        let screen = stage.screen(width, 24);
        assert!(screen.contains(words), "{screen}");
    }
}
