//! Tests of `memory`: a search finds what exhaustive comparison finds, after any additions and removals.

use super::*;
use crate::domain::base::cases::cases;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Deterministic pseudorandom numbers.
struct Dice(u64);

impl Dice {
    /// Uniform between -1 and 1.
    fn roll(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let high = u16::try_from(self.0 >> 48).unwrap();
        f32::from(high) / 32_768.0 - 1.0
    }

    fn vector(&mut self, dims: usize) -> Vec<f32> {
        (0..dims).map(|_| self.roll() + self.roll() + self.roll()).collect()
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn index(vectors: &[Vec<f32>]) -> VectorIndex {
    let mut index = VectorIndex::new();
    for (doc, vector) in (0..).zip(vectors) {
        index.push(doc, &Code::of(vector).unwrap()).unwrap();
    }
    index
}

/// Points around some centers.
fn cloud(dice: &mut Dice, count: usize, centers: usize, dims: usize) -> Vec<Vec<f32>> {
    let centers: Vec<Vec<f32>> = (0..centers).map(|_| dice.vector(dims)).collect();
    let near = |at: usize, dice: &mut Dice| {
        let noise = dice.vector(dims);
        centers[at % centers.len()].iter().zip(noise).map(|(center, noise)| center + 0.8 * noise).collect()
    };
    (0..count).map(|at| near(at, dice)).collect()
}

#[test]
fn search_equals_exhaustive_comparison() {
    let mut dice = Dice(7);
    let vectors = cloud(&mut dice, 4_000, 40, 96);
    let index = index(&vectors);
    let (mut hits, mut asked) = (0, 0);
    for question in vectors.iter().step_by(401) {
        let mut exact: Vec<(f32, u32)> = (0..).zip(&vectors).map(|(doc, v)| (cosine(question, v), doc)).collect();
        exact.sort_by(|a, b| b.0.total_cmp(&a.0));
        let found = index.nearest(question, 10, None).unwrap();
        for near in &found {
            assert!((near.cosine - cosine(question, &vectors[near.doc as usize])).abs() < 0.01);
        }
        assert!(found.is_sorted_by(|a, b| a.cosine >= b.cosine));
        hits += exact[..10].iter().filter(|(_, doc)| found.iter().any(|near| near.doc == *doc)).count();
        asked += 10;
    }
    assert!(hits * 100 >= asked * 95, "{hits} of {asked}");
}

#[test]
fn only_allowed_documents_are_found_and_all_of_them_count() {
    let mut dice = Dice(3);
    let vectors = cloud(&mut dice, 3_000, 3, 64);
    let index = index(&vectors);
    for allowed in [
        (0..3_000).filter(|doc| doc % 7 == 0).collect::<DocSet>(),
        (0..3_000).filter(|doc| doc % 2 == 1).collect(),
        [2_999].into_iter().collect(),
        DocSet::default(),
    ] {
        let exact = index.cosines(&vectors[5], Some(&allowed)).unwrap();
        assert!(exact.iter().all(|near| allowed.contains(near.doc)) && exact.is_sorted_by_key(|near| near.doc));
        assert_eq!(exact.len(), (0..3_000).filter(|doc| allowed.contains(*doc)).count());
        let found = index.nearest(&vectors[5], 5, Some(&allowed)).unwrap();
        assert_eq!(found.len(), exact.len().min(5));
        let best = exact.iter().map(|near| near.cosine).max_by(f32::total_cmp);
        assert_eq!(found.first().map(|near| near.cosine), best);
    }
}

#[test]
fn zero_vectors_match_nothing() {
    let mut index = index(&[vec![0.0; 8], vec![1.0; 8]]);
    assert_eq!(index.nearest(&[0.0; 8], 3, None).unwrap(), []);
    let found = index.nearest(&[1.0; 8], 3, None).unwrap();
    assert_eq!((found[0].doc, found[1]), (1, SimilarDoc { doc: 0, cosine: 0.0 }));
    assert_eq!(index.cosines(&[0.0; 8], None).unwrap().len(), 2);
    assert_eq!(index.nearest(&[1.0; 9], 3, None), Err(VectorError::Dims { found: 9, wanted: 8 }));
    let other = Code::of(&[1.0; 9]).unwrap();
    assert_eq!(index.push(7, &other), Err(VectorError::Dims { found: 9, wanted: 8 }));
    assert_eq!(VectorIndex::new().nearest(&[1.0], 3, None).unwrap(), []);
    assert!(VectorIndex::new().nearest(&[f32::NAN], 3, None).is_err());
}

#[test]
fn equal_results_are_in_order() {
    let index = index(&vec![vec![0.5; 16]; 2_000]);
    let docs: Vec<u32> = index.nearest(&[1.0; 16], 4, None).unwrap().iter().map(|near| near.doc).collect();
    assert_eq!(docs, [0, 1, 2, 3]);
}

/// 9/8 of a byte per dimension, and about 30 bytes.
#[test]
fn memory_is_as_documented() {
    let (count, dims) = (1_000, 128);
    let mut dice = Dice(5);
    let mut index = VectorIndex::new();
    assert_eq!(index.memory(), 0);
    index.reserve(count, dims);
    for doc in (0..).take(count) {
        index.push(doc, &Code::of(&dice.vector(dims)).unwrap()).unwrap();
    }
    let each = index.memory() / count - dims * 9 / 8;
    assert!((17..=40).contains(&each), "{each} bytes beside the dimensions");
}

proptest! {
    #[test]
    fn a_set_of_documents_is_a_set(docs in proptest::collection::vec(0_u32..300, 0..40)) {
        let set: DocSet = docs.iter().copied().collect();
        let known: std::collections::BTreeSet<u32> = docs.into_iter().collect();
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), known.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!((set.len(), set.is_empty()), (known.len(), known.is_empty()));
        prop_assert!((0..300).all(|doc| set.contains(doc) == known.contains(&doc)));
    }
}

proptest! {
    #![proptest_config(cases(48))]
    #[test]
    fn replaced_vectors_do_not_affect_results(pushed in proptest::collection::vec((0_u32..40, any::<u64>()), 0..120), dims in 1_usize..140) {
        let mut grown = VectorIndex::new();
        let mut kept: BTreeMap<u32, Code> = BTreeMap::new();
        for (doc, seed) in pushed {
            let code = Code::of(&Dice(seed).vector(dims)).unwrap();
            grown.push(doc, &Code::decode(&code.encode()).unwrap()).unwrap();
            kept.insert(doc, code);
        }
        let mut fresh = VectorIndex::new();
        for (doc, code) in &kept {
            fresh.push(*doc, code).unwrap();
        }
        prop_assert_eq!(grown.len(), kept.len());
        let question = Dice(99).vector(dims);
        prop_assert_eq!(grown.nearest(&question, 7, None).unwrap(), fresh.nearest(&question, 7, None).unwrap());
        prop_assert_eq!(grown.cosines(&question, None).unwrap(), fresh.cosines(&question, None).unwrap());
        let query = grown.query(&question).unwrap().unwrap();
        let near = |index: &VectorIndex| {
            let mut docs: Vec<u32> = index.scan(&query, None, 3).places().iter().map(|place| index.docs[*place as usize]).collect();
            docs.sort_unstable();
            docs
        };
        if !kept.is_empty() {
            prop_assert_eq!(near(&grown), near(&fresh));
        }
    }
}
