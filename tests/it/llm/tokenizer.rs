//! A model's own `tokenizer.json`, from the settings to the displayed numbers.

use crate::support::binary::Home;
use serde_json::Value;

/// A tokenizer that splits at whitespace and punctuation and knows one word. The rest are single unknown tokens.
fn small(word: &str) -> String {
    format!(
        r#"{{"version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {{"type": "BertPreTokenizer"}}, "post_processor": null, "decoder": null,
        "model": {{"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "",
            "max_input_chars_per_word": 100, "vocab": {{"[UNK]": 0, "{word}": 1}}}}}}"#
    )
}

fn home(tokenizer: &str) -> Home {
    let home = Home::new("");
    let path = home.path(tokenizer).display().to_string();
    home.configure(&format!(
        "profile = \"offline\"\nstate_block = \"off\"\n[profiles.offline]\ntokenizer = {path:?}\n"
    ));
    home
}

fn plan(home: &Home, draft: &str) -> Value {
    let output = home.run(&["plan", "--json", draft]);
    assert_eq!(output.code, 0, "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

fn asked(plan: &Value) -> u64 {
    let rows = plan["included"].as_array().unwrap();
    rows.iter().find(|row| row["section"] == "user_message").unwrap()["tokens"].as_u64().unwrap()
}

fn warning(plan: &Value) -> Option<String> {
    let warnings = plan["warnings"].as_array().unwrap();
    warnings.iter().map(Value::to_string).find(|warning| warning.contains("tokenizer.json"))
}

#[test]
fn models_own_tokenizer_counts() {
    let home = home("tokenizer.json");
    let path = home.path("tokenizer.json");
    // Each "ab" is one token for the first file. The second treats the run as one unknown word.
    std::fs::write(&path, small("ab")).unwrap();
    let draft = "abababababababababababababab";
    let first = plan(&home, draft);
    if !cfg!(feature = "hf-tokenizers") {
        assert_eq!(first["encoding"], "o200k_base");
        assert!(warning(&first).unwrap().contains("hf-tokenizers"));
        return;
    }
    assert_eq!(first["encoding"], format!("tokenizer.json:{}", blake3::hash(small("ab").as_bytes()).to_hex()));
    assert_eq!((asked(&first), warning(&first)), (14, None));
    assert_eq!(first["plan_id"], plan(&home, draft)["plan_id"], "and again the same");
    let text = home.run(&["plan", draft]).out;
    assert!(text.contains("tokenizer.json"), "{text}");

    std::fs::write(&path, small("xy")).unwrap();
    let second = plan(&home, draft);
    assert_ne!(second["encoding"], first["encoding"]);
    assert_eq!(asked(&second), 1, "counts of another file are not reused");
    let doctor = home.run(&["doctor"]).out;
    assert!(doctor.contains("tokens of offline are counted with tokenizer.json"), "{doctor}");
}

#[test]
fn missing_or_broken_tokenizer_is_reported_and_replaced() {
    let home = home("tokenizer.json");
    let without = Home::new("profile = \"offline\"\nstate_block = \"off\"\n");
    let expected = plan(&without, "what is there to say");
    for broken in [None, Some(""), Some("{\"model\": 7}")] {
        if let Some(text) = broken {
            std::fs::write(home.path("tokenizer.json"), text).unwrap();
        }
        let found = plan(&home, "what is there to say");
        assert_eq!((&found["encoding"], &found["est_total"]), (&expected["encoding"], &expected["est_total"]));
        let why = warning(&found).unwrap();
        assert!(why.contains("o200k_base"), "{why}");
        assert_eq!(found["plan_id"], expected["plan_id"], "the counting method does not change the request");
        let output = home.run(&["plan", "what is there to say"]);
        assert!(
            output.out.contains("Tokens are estimated with o200k_base") || output.err.contains("Tokens are estimated")
        );
    }
    let shown = home.run(&["config", "show"]).out;
    assert!(shown.contains("tokenizer.json"), "{shown}");
    let asked = home.run(&["ask", "hello"]);
    assert_eq!(asked.code, 0, "{}", asked.err);
}
