//! Reads the errors of servers from their many formats and sorts them into a few kinds, each with a hint.
//! Not for: deciding whether to retry (`retry`).

use crate::domain::call::provider::ProviderErrorKind as Kind;
use crate::domain::call::{ProviderError, Quirk};
use serde_json::Value;

/// The parts of a server's error that could be read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Fault {
    pub message: String,
    /// Its `type`.
    pub kind: String,
    /// Its `code`, a number or a name.
    pub code: String,
    /// The parameter that it concerns.
    pub param: String,
}

impl Fault {
    /// Returns the error in an object of a stream, if the object is an error.
    pub fn in_stream(value: &Value) -> Option<Self> {
        match value.get("error") {
            Some(Value::String(text)) if !text.is_empty() => Some(Self::text(text)),
            Some(error @ Value::Object(fields)) if !fields.is_empty() => Some(Self::object(error)),
            _ if value.get("object").and_then(Value::as_str) == Some("error") => Some(Self::object(value)),
            _ => None,
        }
    }

    /// Returns the error in the body of a refused request. Any text counts as an error.
    pub fn in_body(body: &str) -> Self {
        match serde_json::from_str::<Value>(body) {
            Ok(Value::Array(list)) => list.first().and_then(Self::in_value).unwrap_or_else(|| Self::text(body)),
            Ok(value) => Self::in_value(&value).unwrap_or_else(|| Self::text(body)),
            Err(_) if body.trim_start().starts_with('<') => Self::text(&title(body)),
            Err(_) => Self::text(body.trim()),
        }
    }

    fn in_value(value: &Value) -> Option<Self> {
        Self::in_stream(value).or_else(|| match value.get("detail") {
            Some(Value::String(text)) => Some(Self::text(text)),
            Some(Value::Array(list)) => list.first().map(|first| Self::text(&detail(first))),
            _ => value.get("message").is_some().then(|| Self::object(value)),
        })
    }

    fn text(text: &str) -> Self {
        Self { message: text.to_owned(), ..Self::default() }
    }

    fn object(value: &Value) -> Self {
        let field = |name: &str| match value.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(number @ Value::Number(_)) => number.to_string(),
            _ => String::new(),
        };
        let mut message = field("message");
        if message.is_empty() {
            message = value.to_string();
        }
        // OpenRouter keeps the upstream server's error as a separate string.
        if let Some(raw) = value.pointer("/metadata/raw").and_then(Value::as_str).filter(|raw| !raw.is_empty()) {
            message = format!("{message}: {}", Self::in_body(raw).message);
        }
        Self { message, kind: field("type"), code: field("code"), param: field("param") }
    }

    /// Sorts the error into a kind, for requests other than chat requests; never proposes a quirk.
    pub fn sort(&self, status: Option<u16>) -> ProviderError {
        self.sort_for(status, &[])
    }

    /// Sorts the error into a kind. Proposes a quirk only if the request contains the field that the server refuses.
    pub fn sort_for(&self, status: Option<u16>, request: &[u8]) -> ProviderError {
        let named = self.code.parse().ok().filter(|code| (400..600).contains(code));
        let status = status.filter(|status| *status != 200).or(named);
        let text = [&self.message, &self.kind, &self.code].map(|part| part.to_lowercase()).join(" \n");
        let kind = self.kind_of(status.unwrap_or_default(), &text, request);
        // An unknown path more likely means a wrong base_url than a bad request.
        let is_unknown_path = kind == Kind::Refused && matches!(status, Some(404 | 405));
        let hint = hint(if is_unknown_path { &Kind::Protocol } else { &kind }).to_owned();
        ProviderError { hint, what: self.sentence(status), kind, status }
    }

    fn sentence(&self, status: Option<u16>) -> String {
        let reason = if self.message.trim().is_empty() { "no reason given" } else { self.message.trim() };
        match status {
            Some(status) => format!("the server refused the call ({status}): {reason}"),
            None => format!("the server reported an error: {reason}"),
        }
    }

    fn kind_of(&self, status: u16, text: &str, request: &[u8]) -> Kind {
        let has = |words: &[&str]| words.iter().any(|word| text.contains(word));
        if status == 402 || has(&QUOTA) {
            Kind::Quota
        } else if has(&["tokens per minute", "requests per minute"]) && matches!(status, 413 | 429) {
            Kind::RateLimit
        } else if has(&TOO_LONG) || status == 413 {
            Kind::TooLong
        } else if status == 401
            || has(&AUTH)
            || (status == 403 && !has(&["moderation", "flagged", "region", "country"]))
        {
            Kind::Auth
        } else if let Some(quirk) = self.quirk(status, text).filter(|quirk| contains_field(*quirk, request)) {
            Kind::Body(quirk)
        } else if has(&MODEL) || (status == 404 && has(&["model"])) {
            Kind::Model
        } else if status == 429 || has(&RATE) {
            Kind::RateLimit
        } else if status >= 500 || has(&["server_error", "internal_error", "internalservererror", "overloaded"]) {
            Kind::Server
        } else {
            Kind::Refused
        }
    }

    /// Returns the quirk that the server's error asks for.
    fn quirk(&self, status: u16, text: &str) -> Option<Quirk> {
        if !matches!(status, 0 | 400 | 404 | 422 | 500 | 501) {
            return None;
        }
        let has = |word: &str| text.contains(word);
        let refused = UNSUPPORTED.iter().any(|word| has(word));
        let about = |word: &str| self.param == word || has(word);
        if has("alternat") && (has("role") || has("user/assistant")) || has("consecutive messages") {
            Some(Quirk::StrictAlternation)
        } else if about("stream_options") && refused {
            Some(Quirk::NoStreamOptions)
        } else if (about("max_tokens") || about("max_completion_tokens")) && refused {
            Some(self.limit_quirk(text))
        } else if about("temperature") && (refused || has("only the default")) {
            Some(Quirk::NoTemperature)
        } else if refused
            && ["tools", "tool use", "tool call", "tool choice", "tool_choice", "function call"]
                .iter()
                .any(|word| has(word))
        {
            Some(Quirk::NoTools)
        } else if refused && has("role") && has("developer") && (has("instead") || has("use 'developer'")) {
            Some(Quirk::DeveloperRole)
        } else if refused
            && (has("system role") || has("role") && (has("'system'") || has("\"system\"") || has("developer")))
        {
            Some(Quirk::NoSystemRole)
        } else {
            None
        }
    }

    /// Returns the quirk for a refused limit on the answer. The error names the refused field first and the accepted
    /// one second.
    fn limit_quirk(&self, text: &str) -> Quirk {
        let (short, long) = (text.find("max_tokens"), text.find("max_completion_tokens"));
        let about_short = match self.param.as_str() {
            "max_tokens" => true,
            "max_completion_tokens" => false,
            _ => short.is_some_and(|short| long.is_none_or(|long| short < long)),
        };
        if about_short { Quirk::MaxCompletionTokens } else { Quirk::MaxTokens }
    }
}

/// Returns whether a request contains the field that a quirk would change.
fn contains_field(quirk: Quirk, request: &[u8]) -> bool {
    serde_json::from_slice(request).is_ok_and(|request| quirk.applies_to(&request))
}

const QUOTA: [&str; 6] = [
    "insufficient_quota",
    "exceeded your current quota",
    "insufficient credits",
    "insufficient balance",
    "credit balance is too low",
    "billing_hard_limit",
];
const TOO_LONG: [&str; 9] = [
    "context_length_exceeded",
    "maximum context length",
    "contextwindowexceeded",
    "context window",
    "context_window",
    "prompt is too long",
    "available context size",
    "exceed_context_size",
    "longer than the model's context",
];
const AUTH: [&str; 6] = [
    "invalid_api_key",
    "no_db_connection",
    "authentication_error",
    "incorrect api key",
    "invalid api key",
    "no auth credentials",
];
const MODEL: [&str; 6] = [
    "model_not_found",
    "unknown model",
    "is not a valid model",
    "invalid model name",
    "no endpoints found for",
    "model does not exist",
];
const RATE: [&str; 4] = ["rate_limit", "rate limit", "ratelimit", "throttling"];
const UNSUPPORTED: [&str; 17] = [
    "unsupported",
    "not support",
    "n't support",
    "unknown",
    "unrecognized",
    "unrecognised",
    "not recognized",
    "unexpected",
    "extra inputs",
    "extra fields",
    "extra_forbidden",
    "not permitted",
    "not allowed",
    "not one of",
    "no endpoints found that support",
    "not compatible",
    "requires --",
];

/// Returns the user's remedy for each kind of error.
pub fn hint(kind: &Kind) -> &'static str {
    match kind {
        Kind::Connect => "Is the server running, and is base_url right? `pleach doctor` checks every profile.",
        Kind::Auth => {
            "Check the profile's key: it comes from the environment variable that api_key_env names (such as OPENAI_API_KEY), or from api_key_cmd."
        }
        Kind::Model => "Choose another model; `pleach models` lists what the server has.",
        Kind::RateLimit => "Wait a moment and send the message again, or choose another model.",
        Kind::Quota => "The account has no credit left: add credit, or choose another profile.",
        Kind::TooLong => "Lower the budget, leave something out, or choose a model with a larger context window.",
        Kind::Body(_) => "pleach can send the request again in the format that the server accepts.",
        Kind::Refused => "Read the server's message; `pleach plan --request MESSAGE` prints the exact request.",
        Kind::Server => "The fault is on the server's side: try again, or choose another profile.",
        Kind::Protocol => "Is base_url the address of an OpenAI-compatible server? It usually ends in /v1.",
        Kind::Idle => "Try again; idle_timeout in the profile sets how long to wait.",
    }
}

/// Returns the title of an HTML page, or its first words.
fn title(page: &str) -> String {
    let lower = page.to_ascii_lowercase();
    let inside = lower
        .find("<title>")
        .map(|at| at + 7)
        .and_then(|start| lower[start..].find("</title>").map(|length| page[start..start + length].trim().to_owned()));
    inside.filter(|title| !title.is_empty()).unwrap_or_else(|| super::clip(page.trim(), 2000))
}

fn detail(value: &Value) -> String {
    let place: Vec<&str> =
        value.get("loc").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let reason = value.get("msg").and_then(Value::as_str).map_or_else(|| value.to_string(), str::to_owned);
    if place.is_empty() { reason } else { format!("{}: {reason}", place.join(".")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with every field that a server may refuse.
    const FULL: &str = r#"{"max_tokens":1,"max_completion_tokens":1,"stream_options":{},"temperature":1,"tools":[],
        "messages":[{"role":"system"},{"role":"user"},{"role":"user"}]}"#;

    fn kind(status: u16, body: &str) -> Kind {
        Fault::in_body(body).sort_for(Some(status), FULL.as_bytes()).kind
    }

    #[test]
    fn server_errors_are_classified() {
        let cases = [
            (401, r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#, Kind::Auth),
            (400, r#"{"error":{"message":"No connected db.","type":"no_db_connection","code":"400"}}"#, Kind::Auth),
            (403, r#"{"error":{"message":"Key disabled","code":403}}"#, Kind::Auth),
            (403, r#"{"error":{"message":"Your input was flagged","code":403}}"#, Kind::Refused),
            (404, r#"{"error":{"message":"The model `x` does not exist","code":"model_not_found"}}"#, Kind::Model),
            (404, r#"{"error":"model \"x\" not found, try pulling it first"}"#, Kind::Model),
            (400, r#"{"error":{"message":"x/y is not a valid model ID","code":400}}"#, Kind::Model),
            (404, "<html><title>404 Not Found</title></html>", Kind::Refused),
            (429, r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#, Kind::RateLimit),
            (429, r#"{"error":{"message":"x","type":"throttling_error","code":"429"}}"#, Kind::RateLimit),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}"#,
                Kind::Quota,
            ),
            (402, r#"{"error":{"message":"Insufficient credits","code":402}}"#, Kind::Quota),
            (413, r#"{"error":{"message":"Request too large, tokens per minute (TPM): Limit 6000"}}"#, Kind::RateLimit),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":"context_length_exceeded","param":"messages"}}"#,
                Kind::TooLong,
            ),
            (
                400,
                r#"{"error":{"message":"litellm.ContextWindowExceededError: too much","code":"400"}}"#,
                Kind::TooLong,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                Kind::TooLong,
            ),
            (500, r#"{"error":{"message":"boom","type":"server_error"}}"#, Kind::Server),
            (503, "upstream connect error", Kind::Server),
            (
                400,
                r#"{"error":{"message":"max_tokens is too large: 9000. At most 4096 completion tokens."}}"#,
                Kind::Refused,
            ),
            (400, "nonsense", Kind::Refused),
            (422, r#"{"detail":[{"type":"missing","loc":["body","messages"],"msg":"Field required"}]}"#, Kind::Refused),
        ];
        for (status, body, expected) in cases {
            assert_eq!(kind(status, body), expected, "{body}");
        }
    }

    #[test]
    fn finds_the_requested_quirk() {
        let cases = [
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
                Quirk::MaxCompletionTokens,
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]}"#,
                Quirk::MaxTokens,
            ),
            (
                r#"{"error":{"message":"Unknown parameter: 'stream_options'.","param":"stream_options"}}"#,
                Quirk::NoStreamOptions,
            ),
            (
                r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.","param":"temperature"}}"#,
                Quirk::NoTemperature,
            ),
            (r#"{"error":{"message":"registry.ollama.ai/library/gemma does not support tools"}}"#, Quirk::NoTools),
            (
                r#"{"object":"error","message":"\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set"}"#,
                Quirk::NoTools,
            ),
            (r#"{"error":{"message":"Unrecognised request argument supplied: tools"}}"#, Quirk::NoTools),
            (r#"{"error":{"message":"System role not supported","code":400}}"#, Quirk::NoSystemRole),
            (
                r#"{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model.","param":"messages[0].role"}}"#,
                Quirk::NoSystemRole,
            ),
            (
                r#"{"error":{"message":"'developer' is not one of ['system', 'assistant', 'user'] - 'messages.0.role'"}}"#,
                Quirk::NoSystemRole,
            ),
            (
                r#"{"error":{"message":"Role 'system' is not supported, use 'developer' instead."}}"#,
                Quirk::DeveloperRole,
            ),
            (r#"{"error":{"message":"A system role is not supported: use 'developer'."}}"#, Quirk::DeveloperRole),
            (
                r#"{"error":{"message":"The role \"system\" is not supported; send developer instead."}}"#,
                Quirk::DeveloperRole,
            ),
            (
                r#"{"object":"error","message":"Conversation roles must alternate user/assistant/user/assistant/...","code":400}"#,
                Quirk::StrictAlternation,
            ),
        ];
        let full: Value = serde_json::from_str(FULL).unwrap();
        for (body, quirk) in cases {
            assert_eq!(kind(400, body), Kind::Body(quirk), "{body}");
            let refused = refused(quirk);
            let mut without = full.clone();
            without.as_object_mut().unwrap().remove(refused);
            let sorted = Fault::in_body(body).sort_for(Some(400), without.to_string().as_bytes()).kind;
            assert!(!matches!(sorted, Kind::Body(_)), "{body} is no answer to a request without {refused}");
        }
        assert_eq!(
            kind(404, r#"{"error":{"message":"No endpoints found that support tool use.","code":404}}"#),
            Kind::Body(Quirk::NoTools)
        );
    }

    /// Returns the request field that a quirk concerns.
    fn refused(quirk: Quirk) -> &'static str {
        match quirk {
            Quirk::MaxCompletionTokens => "max_tokens",
            Quirk::MaxTokens => "max_completion_tokens",
            Quirk::NoStreamOptions => "stream_options",
            Quirk::NoTools => "tools",
            Quirk::NoTemperature => "temperature",
            Quirk::NoSystemRole | Quirk::DeveloperRole | Quirk::StrictAlternation => "messages",
        }
    }

    #[test]
    fn a_role_that_was_not_sent_is_no_quirk() {
        let rejected = |quirk: Quirk, roles: &[&str]| {
            let messages: Vec<Value> = roles.iter().map(|role| serde_json::json!({ "role": role })).collect();
            quirk.applies_to(&serde_json::json!({ "messages": messages }))
        };
        assert!(
            rejected(Quirk::NoSystemRole, &["developer", "user"])
                && !rejected(Quirk::NoSystemRole, &["user", "assistant"])
        );
        assert!(rejected(Quirk::DeveloperRole, &["system"]) && !rejected(Quirk::DeveloperRole, &["developer", "user"]));
        for alternating in [&["system", "user", "assistant", "tool", "tool", "assistant"][..], &["user"], &[]] {
            assert!(!rejected(Quirk::StrictAlternation, alternating), "{alternating:?}");
        }
        for not in [&["user", "user"][..], &["system", "assistant"], &["user", "system", "user"]] {
            assert!(rejected(Quirk::StrictAlternation, not), "{not:?}");
        }
    }

    #[test]
    fn an_empty_error_is_not_an_error() {
        let is_error = |object: &str| Fault::in_stream(&serde_json::from_str(object).unwrap()).is_some();
        for none in [r#"{"error":{}}"#, r#"{"error":""}"#, r#"{"error":null}"#, "{}", "[]"] {
            assert!(!is_error(none), "{none}");
        }
        assert!(
            is_error(r#"{"error":{"code":1}}"#)
                && is_error(r#"{"error":"x"}"#)
                && is_error(r#"{"object":"error","error":{}}"#)
        );
    }

    #[test]
    fn an_unknown_path_suggests_checking_the_url() {
        let error =
            Fault::in_body("{\"error\":{\"message\":\"Invalid URL (POST /chat/completions)\"}}").sort(Some(404));
        assert!(error.kind == Kind::Refused && error.hint.contains("/v1"), "{error:?}");
    }

    #[test]
    fn the_upstream_servers_error_is_kept() {
        let body = r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"{\"error\":{\"message\":\"slow down\"}}"}}}"#;
        let error = Fault::in_body(body).sort(Some(429));
        assert!(error.what.contains("Provider returned error: slow down"), "{}", error.what);
        let in_stream: Value = serde_json::from_str(body).unwrap();
        let error = Fault::in_stream(&in_stream).unwrap().sort(Some(200));
        assert_eq!((error.kind, error.status), (Kind::RateLimit, Some(429)));
    }

    proptest::proptest! {
        #[test]
        fn any_body_is_read(body in "\\PC{0,200}", status in 200_u16..600) {
            let _ = Fault::in_body(&body).sort(Some(status));
        }
    }
}
