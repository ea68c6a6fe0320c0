//! Tests of `local`: with a tiny model made here, and with real weights if `PLEACH_MINILM` names their directory.

use super::*;
use candle_core::safetensors::save;
use std::cell::Cell;
use std::collections::HashMap;
use std::path::PathBuf;

/// Returns a model with random weights of a few kilobytes: 2 layers, 8 dimensions, 40 words, 10 tokens of input.
fn tiny() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "config.json",
        r#"{"model_type": "bert", "vocab_size": 43, "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
        "intermediate_size": 12, "hidden_act": "gelu", "hidden_dropout_prob": 0.0, "max_position_embeddings": 10,
        "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12, "pad_token_id": 0}"#,
    );
    let words: Vec<String> = (0..40).map(|at| format!("\"w{at}\": {}", at + 3)).collect();
    let vocabulary = format!(r#"{{"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, {}}}"#, words.join(", "));
    let special = |id: u32, name: &str| {
        format!(
            r#"{{"id": {id}, "special": true, "content": "{name}", "single_word": false, "lstrip": false, "rstrip": false, "normalized": false}}"#
        )
    };
    write(
        "tokenizer.json",
        &format!(
            r#"{{"version": "1.0", "truncation": null, "padding": null, "normalizer": null, "decoder": null,
            "added_tokens": [{}, {}, {}], "pre_tokenizer": {{"type": "Whitespace"}},
            "post_processor": {{"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]}},
            "model": {{"type": "WordLevel", "unk_token": "[UNK]", "vocab": {vocabulary}}}}}"#,
            special(0, "[UNK]"),
            special(1, "[CLS]"),
            special(2, "[SEP]")
        ),
    );
    weights(folder.path());
    folder
}

fn weights(folder: &Path) {
    let mut state = 7_u64;
    let mut tensors: HashMap<String, Tensor> = HashMap::new();
    let mut add = |name: String, shape: &[usize]| {
        let count = shape.iter().product();
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            values.push(f32::from(u16::try_from(state >> 48).unwrap()) / 32_768.0 - 1.0);
        }
        tensors.insert(name, Tensor::from_vec(values, shape, &Device::Cpu).unwrap());
    };
    let mut linear = |name: String, out: usize, from: usize| {
        add(format!("{name}.weight"), &[out, from]);
        add(format!("{name}.bias"), &[out]);
    };
    for layer in 0..2 {
        let at = format!("encoder.layer.{layer}");
        for part in ["query", "key", "value"] {
            linear(format!("{at}.attention.self.{part}"), 8, 8);
        }
        linear(format!("{at}.attention.output.dense"), 8, 8);
        linear(format!("{at}.intermediate.dense"), 12, 8);
        linear(format!("{at}.output.dense"), 8, 12);
    }
    add("embeddings.word_embeddings.weight".into(), &[43, 8]);
    add("embeddings.position_embeddings.weight".into(), &[10, 8]);
    add("embeddings.token_type_embeddings.weight".into(), &[2, 8]);
    let mut norms = vec!["embeddings.LayerNorm".to_owned()];
    for layer in 0..2 {
        norms.push(format!("encoder.layer.{layer}.attention.output.LayerNorm"));
        norms.push(format!("encoder.layer.{layer}.output.LayerNorm"));
    }
    for norm in norms {
        tensors.insert(format!("{norm}.weight"), Tensor::ones(8, DType::F32, &Device::Cpu).unwrap());
        tensors.insert(format!("{norm}.bias"), Tensor::zeros(8, DType::F32, &Device::Cpu).unwrap());
    }
    save(&tensors, folder.join("model.safetensors")).unwrap();
}

fn always() -> bool {
    true
}

fn embed(embedder: &LocalEmbedder, texts: &[&str]) -> Vec<Vec<f32>> {
    embedder.embed(texts, Purpose::Passage, &always).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn why(folder: &Path) -> String {
    let result = LocalEmbedder::open(folder).and_then(|embedder| embedder.embed(&["w1"], Purpose::Query, &always));
    result.unwrap_err().to_string()
}

#[test]
fn a_vector_does_not_depend_on_its_batch() {
    let folder = tiny();
    let embedder = LocalEmbedder::open(folder.path()).unwrap();
    let texts = ["w1 w2", "", "w3", " \n ", "w4 w5 w6 w7", "\u{200b}\0"];
    let together = embed(&embedder, &texts);
    assert_eq!((embedder.dims(), embedder.remote(), together.len()), (8, false, 6));
    for (text, vector) in texts.iter().zip(&together) {
        let length = cosine(vector, vector);
        assert_eq!(vector.len(), 8);
        if text.trim().is_empty() {
            assert_eq!(vector, &[0.0; 8]);
        } else {
            assert!((length - 1.0).abs() < 1e-5, "{text:?}");
            assert!(cosine(vector, &embed(&embedder, &[text])[0]) > 0.99999, "{text:?}");
        }
    }
    assert!(cosine(&together[0], &together[2]) < 0.999);
}

#[test]
fn batches_are_filled_including_padding() {
    for (lengths, expected) in [
        (vec![10; 40], 32),
        (vec![32; 40], 32),
        (vec![33; 40], 31),
        (vec![1_024; 3], 1),
        (vec![1_025; 3], 1),
        (vec![512, 512, 512], 2),
        (vec![100, 100, 100, 300, 300], 3),
        (vec![7], 1),
    ] {
        let windows: Vec<Window> = lengths.iter().map(|length| Window { text: 0, ids: vec![0; *length] }).collect();
        assert_eq!(batch_of(&windows.iter().collect::<Vec<_>>()), expected, "{lengths:?}");
    }
}

#[test]
fn long_texts_are_the_mean_of_their_windows() {
    let folder = tiny();
    let embedder = LocalEmbedder::open(folder.path()).unwrap();
    let words: Vec<String> = (0..12).map(|at| format!("w{at}")).collect();
    let (first, second) = (words[..8].join(" "), words[8..].join(" "));
    let windows = embedder.windows(&embedder.loaded().unwrap(), &[words.join(" ")], &always).unwrap();
    let ids: Vec<&[u32]> = windows.iter().map(|window| window.ids.as_slice()).collect();
    assert_eq!(ids, [&[1, 3, 4, 5, 6, 7, 8, 9, 10, 2][..], &[1, 11, 12, 13, 14, 2]]);
    let alone = embed(&embedder, &[&first, &second]);
    let expected = pooled(vec![(10.0, alone[0].clone()), (6.0, alone[1].clone())]);
    assert!(cosine(&embed(&embedder, &[&words.join(" ")])[0], &expected) > 0.99999);
    let huge = "w1 w2 w3 ".repeat(20_000);
    let asked = Cell::new(0);
    let stopped = embedder.embed(&[&huge], Purpose::Passage, &|| {
        asked.set(asked.get() + 1);
        asked.get() < 12
    });
    assert_eq!((stopped, asked.get()), (Err(EmbedError::Stopped), 12));
    assert_eq!(embedder.embed(&["w1"], Purpose::Query, &|| false), Err(EmbedError::Stopped));
}

#[test]
fn the_identity_depends_on_the_files() {
    let folder = tiny();
    let before = LocalEmbedder::open(folder.path()).unwrap();
    assert_eq!(before.id(), LocalEmbedder::open(folder.path()).unwrap().id());
    let name = folder.path().canonicalize().unwrap().file_name().unwrap().to_string_lossy().into_owned();
    let digest = before.id().strip_prefix(&format!("local {name} ")).unwrap().to_owned();
    assert!(digest.len() == 16 && digest.chars().all(|c| c.is_ascii_hexdigit()), "{digest}");
    let pooled = folder.path().join("1_Pooling");
    std::fs::create_dir(&pooled).unwrap();
    std::fs::write(pooled.join("config.json"), r#"{"pooling_mode_cls_token": true}"#).unwrap();
    let first = LocalEmbedder::open(folder.path()).unwrap();
    assert_ne!(before.id(), first.id());
    assert!(cosine(&embed(&before, &["w1 w2"])[0], &embed(&first, &["w1 w2"])[0]) < 0.9999);
    let prompts = r#"{"prompts": {"query": "w9 ", "document": "w8 "}}"#;
    std::fs::write(folder.path().join("config_sentence_transformers.json"), prompts).unwrap();
    let prompted = LocalEmbedder::open(folder.path()).unwrap();
    assert_ne!(prompted.id(), first.id());
    let query = prompted.embed(&["w1"], Purpose::Query, &always).unwrap();
    assert!(cosine(&query[0], &embed(&first, &["w9 w1"])[0]) > 0.99999);
    assert!(cosine(&embed(&prompted, &["w1"])[0], &embed(&first, &["w8 w1"])[0]) > 0.99999);
}

#[test]
fn invalid_directories_say_why() {
    let nowhere: PathBuf = tempfile::tempdir().unwrap().path().join("gone");
    assert!(why(&nowhere).contains("no such directory"), "{}", why(&nowhere));
    for missing in ["config.json", "tokenizer.json", "model.safetensors"] {
        let folder = tiny();
        std::fs::remove_file(folder.path().join(missing)).unwrap();
        assert!(why(folder.path()).contains(&format!("it has no {missing}")), "{}", why(folder.path()));
    }
    let folder = tiny();
    std::fs::rename(folder.path().join("model.safetensors"), folder.path().join("pytorch_model.bin")).unwrap();
    assert!(why(folder.path()).contains("only safetensors"));
    let config = std::fs::read_to_string(tiny().path().join("config.json")).unwrap();
    for (name, text, expected) in [
        ("config.json", "{", "damaged"),
        ("config.json", "{}", "not the configuration of a BERT model"),
        ("config.json", r#"{"model_type": "mpnet"}"#, "only bert"),
        (
            "config.json",
            &config.replace("\"num_attention_heads\": 2", "\"num_attention_heads\": 3"),
            "sizes that do not match",
        ),
        ("config.json", &config.replace("\"hidden_size\": 8", "\"hidden_size\": 16"), "model.safetensors"),
        ("tokenizer.json", "{}", "not a tokenizer"),
        ("model.safetensors", "", "model.safetensors"),
        ("model.safetensors", "garbage that is no header", "model.safetensors"),
        ("sentence_bert_config.json", r#"{"max_seq_length": 2}"#, "only 2 tokens"),
        ("modules.json", r#"[{"type": "sentence_transformers.models.Dense"}]"#, "a step Dense"),
    ] {
        let folder = tiny();
        std::fs::write(folder.path().join(name), text).unwrap();
        let message = why(folder.path());
        assert!(message.contains(expected) && message.contains(&folder.path().display().to_string()), "{message}");
    }
}

#[test]
fn changed_weights_are_detected() {
    let folder = tiny();
    let embedder = LocalEmbedder::open(folder.path()).unwrap();
    std::fs::write(folder.path().join("model.safetensors"), "other").unwrap();
    let error = embedder.embed(&["w1"], Purpose::Query, &always).unwrap_err().to_string();
    assert!(error.contains("changed"), "{error}");
}

/// The first eight numbers of the vector of a text, repeated the given number of times, from a forward pass in numpy
/// over the same weights (float32, erf-GELU, mean over the mask, length 1, at most 256 tokens).
const REFERENCE: [(&str, usize, [f32; 8]); 3] = [
    (
        "How do I make a cake?",
        1,
        [0.031_725, 0.018_239, -0.038_439, -0.009_251, -0.065_085, 0.020_604, -0.000_279, -0.068_945],
    ),
    (
        "Naïve café: 日本語 and snake_case::path/to/file.rs:12!",
        1,
        [-0.019_568, 0.052_979, -0.012_668, -0.055_813, -0.001_803, 0.010_983, 0.033_956, -0.028_296],
    ),
    (
        "The quick brown fox jumps over the lazy dog. ",
        20,
        [0.058_497, -0.045_977, 0.075_785, -0.003_532, -0.040_352, 0.009_651, -0.025_376, -0.078_863],
    ),
];

#[test]
fn real_weights_give_the_reference_vectors() {
    let Some(folder) = std::env::var_os("PLEACH_MINILM") else {
        eprintln!("SKIPPED: PLEACH_MINILM names no directory of all-MiniLM-L6-v2, so no real weights were tried");
        return;
    };
    let embedder = LocalEmbedder::open(Path::new(&folder)).unwrap();
    let texts: Vec<String> = REFERENCE.iter().map(|(text, times, _)| text.repeat(*times)).collect();
    let found = embed(&embedder, &texts.iter().map(String::as_str).collect::<Vec<_>>());
    for ((text, _, expected), found) in REFERENCE.iter().zip(&found) {
        assert_eq!(found.len(), 384);
        for (expected, found) in expected.iter().zip(found) {
            assert!((expected - found).abs() < 2e-5, "{text}: {expected} {found}");
        }
    }
    let like = embed(&embedder, &["How do I make a cake?", "A recipe for baking", "The stock market fell"]);
    assert!(cosine(&like[0], &like[1]) > 0.4 && cosine(&like[0], &like[2]) < 0.2);
}
