//! Laws of the whole module: branches do not affect one another, the location of postings changes nothing, removed
//! messages are gone, and cards fit and add up.

use super::compose::{Card, CardRules, Composed, compose};
use super::floor::Floor;
use super::gate;
use super::index::segment::{NoSegments, Source};
use super::index::session::{Entry, Index, Sealed};
use super::index::words::Term;
use super::query::Query;
use super::scope::{Filter, Scope};
use super::search::{Hit, MessageTexts, SearchOptions, search};
use super::tuning::Tuning;
use crate::context::{self, SentCandidate};
use crate::domain::base::Hash;
use crate::domain::call::tokens::approximate;
use crate::domain::call::{Gate, MissReason, PassReason};
use crate::domain::conversation::Role;
use crate::domain::planning::{Candidate, Offer};
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

const WORDS: [&str; 16] = [
    "token", "refresh", "login", "bread", "flour", "oven", "parser", "header", "wire", "cache", "ring", "slot",
    "garden", "roses", "water", "shade",
];

fn find(options: &SearchOptions<'_>, text: &str, together: &dyn Fn(usize) -> Range<usize>) -> Composed {
    let hits = search(options, &Query::new(options.index, options.scope, text)).unwrap();
    let is_enough = &context::enough_within(8_000);
    compose(options, &hits, &CardRules { count: &approximate, together, near: 20, floor: None, is_enough })
}

fn alone(at: usize) -> Range<usize> {
    at..at + 1
}

/// The cards that fit, with their lines and tokens.
fn cards_within(composed: &Composed, tokens: u32) -> Vec<(&Card, &str, u32)> {
    let (sent, _) = context::within(&composed.offer(), tokens);
    let card = |one: SentCandidate| {
        let card = &composed.cards[one.at];
        (card, card.text(one.after), one.tokens)
    };
    sent.into_iter().map(card).collect()
}

/// An offer of cards, with a delimiter after the last one.
fn offer(composed: &Composed) -> Offer {
    let tail = "12345>>>\n\n";
    let tail = (tail, approximate(tail));
    let candidates = composed.cards.iter().map(|card| card.candidate(tail, &mut |_, _| ())).collect();
    Offer { candidates, ..composed.offer() }
}

#[derive(Default)]
struct Conversation {
    index: Index,
    texts: HashMap<Hash, String>,
}

impl Conversation {
    fn add(&mut self, text: &str) -> u32 {
        self.add_from(None, text)
    }

    fn add_from(&mut self, speaker: Option<&str>, text: &str) -> u32 {
        let number = self.index.messages();
        let at = 1_700_000_000 + i64::from(number) * 60 + i64::from(number / 20) * 90_000;
        self.add_at(Some(at), speaker, text)
    }

    fn add_at(&mut self, at: Option<i64>, speaker: Option<&str>, text: &str) -> u32 {
        let number = self.index.messages();
        let key = Hash::of(&number.to_le_bytes());
        self.texts.insert(key, text.to_owned());
        let role = if number.is_multiple_of(2) { Role::User } else { Role::Assistant };
        self.index.add(&Entry { key, role, speaker, at, lane: number % 2, text })
    }

    fn options<'a>(&'a self, scope: &'a Scope, filter: &'a Filter, source: &'a dyn Source) -> SearchOptions<'a> {
        SearchOptions { index: &self.index, scope, source, texts: self, filter, cosines: None, tuning: None }
    }

    fn hits(&self, path: &[u32], filter: &Filter, query: &str) -> Vec<Hit> {
        let scope = Scope::new(&self.index, path);
        search(&self.options(&scope, filter, &NoSegments), &Query::new(&self.index, &scope, query)).unwrap()
    }
}

impl MessageTexts for Conversation {
    fn text(&self, key: &Hash) -> Option<Cow<'_, str>> {
        self.texts.get(key).map(|text| Cow::Borrowed(text.as_str()))
    }

    fn speaker(&self, _: &Hash) -> Option<Cow<'_, str>> {
        None
    }
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 1..14).prop_map(|words| words.join(" "))
}

/// Sealed segments that are stored elsewhere.
struct StoredSegments(Vec<Sealed>);

impl Source for StoredSegments {
    fn postings(&self, segment: u32, terms: &[Term], found: &mut dyn FnMut(Term, &[u8])) -> Result<(), String> {
        let lists = &self.0.get(segment as usize).ok_or("no such segment")?.lists;
        for term in terms {
            if let Ok(at) = lists.binary_search_by_key(term, |(term, _)| *term) {
                found(*term, &lists[at].1);
            }
        }
        Ok(())
    }
}

proptest! {
    /// Admission relies on this: whatever cards are sent, one that leaves frees at least what the next one then takes
    /// in addition, such as the date.
    #[test]
    fn a_card_that_leaves_frees_enough_for_the_next(
        messages in proptest::collection::vec((prop_oneof!["[a-z/]", text(), text().prop_map(|text| text.repeat(20))], proptest::option::of(0_i64..4)), 1..30),
        (query, joins) in (text(), 1_usize..4),
        sent in proptest::collection::vec(any::<bool>(), 1..80),
    ) {
        let mut all = Conversation::default();
        let path: Vec<u32> =
            messages.iter().map(|(text, day)| all.add_at(day.map(|day| day * 86_400), None, text)).collect();
        let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
        let run = |at: usize| at / joins * joins..(at / joins + 1) * joins;
        let offer = offer(&find(&all.options(&scope, &filter, &NoSegments), &query, &run));
        context::assert_leaving_frees_enough(&offer, &|at| sent[at % sent.len()]);
        context::assert_leaving_frees_enough(&offer, &|_| true);
    }

    /// Branches are isolated: messages of another branch change no score of this one.
    #[test]
    fn another_branch_changes_nothing(
        ours in proptest::collection::vec(text(), 1..40),
        theirs in proptest::collection::vec(text(), 0..40),
        query in text(),
    ) {
        let (mut alone, mut both) = (Conversation::default(), Conversation::default());
        let filter = Filter::default();
        let path: Vec<u32> = ours.iter().map(|text| alone.add(text)).collect();
        for text in &ours {
            both.add(text);
        }
        for text in &theirs {
            both.add_from(Some("Token Rose"), text);
        }
        prop_assert_eq!(alone.hits(&path, &filter, &query), both.hits(&path, &filter, &query));
    }

    /// Filtered messages are never found, and all others keep their words' scores.
    #[test]
    fn only_allowed_messages_are_found(texts in proptest::collection::vec(text(), 2..40), query in text(), from in 0_usize..40, lane in 0_u32..3) {
        let mut all = Conversation::default();
        let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
        let filter = Filter { out: std::iter::once(from..from + 5).collect(), sent: Vec::new(), lane: (lane < 2).then_some(lane) };
        for hit in all.hits(&path, &filter, &query) {
            prop_assert!(!(from..from + 5).contains(&hit.position));
            prop_assert!(lane == 2 || hit.position % 2 == lane as usize);
            prop_assert!((hit.score - hit.parts.sum()).abs() < 1e-3);
        }
    }

    /// Messages of the request are not found, and do not change how the others are found.
    #[test]
    fn messages_of_the_request_count_for_the_others(texts in proptest::collection::vec(text(), 2..40), query in text(), from in 0_usize..40) {
        let mut all = Conversation::default();
        let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
        let run = from..from + 5;
        let filter = Filter { out: vec![run.clone()], sent: vec![run.clone()], lane: None };
        let mut others = all.hits(&path, &Filter::default(), &query);
        others.retain(|hit| !run.contains(&hit.position));
        prop_assert_eq!(all.hits(&path, &filter, &query), others);
    }

    #[test]
    fn cards_fit_and_sum(texts in proptest::collection::vec(text(), 1..40), query in text(), tokens in 5_u32..200) {
        let mut all = Conversation::default();
        let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
        let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
        let composed = find(&all.options(&scope, &filter, &NoSegments), &query, &|at| at / 2 * 2..at / 2 * 2 + 2);
        let filled = cards_within(&composed, tokens);
        let sum: u32 = filled.iter().map(|(.., tokens)| tokens).sum();
        let whole: String = filled.iter().map(|(_, text, _)| *text).collect();
        prop_assert!(sum <= tokens);
        prop_assert_eq!(approximate(&whole), sum);
        let positions: Vec<usize> = filled.iter().map(|(card, ..)| card.position).collect();
        prop_assert!(positions.windows(2).all(|pair| pair[0] < pair[1]), "a message is in two cards");
        for position in &positions {
            let other = position ^ 1;
            prop_assert!(other >= texts.len() || positions.contains(&other), "an atom was parted");
        }
    }

    /// What a score gains from neighbors, from the sitting and from cosines, worked out by the formulas of `smooth`.
    #[test]
    fn scores_gain_from_their_surroundings_by_the_formulas(
        messages in proptest::collection::vec((text(), 0_usize..6), 1..60), query in text(), from in 0_usize..60, cosines: bool
    ) {
        let mut all = Conversation::default();
        let names = [None, None, None, None, Some("Ann"), Some("Bob")];
        let path: Vec<u32> = messages.iter().map(|(text, by)| all.add_from(names[*by], text)).collect();
        let query = format!("{query} Ann");
        let (scope, count) = (Scope::new(&all.index, &path), messages.len());
        let out = if cosines { 0..0 } else { from..from + 5 };
        let filter = Filter { out: vec![out.clone()], ..Filter::default() };
        let given: Vec<(u32, f32)> = (0_u16..60).map(|at| (u32::from(at), f32::from(at * 7 % 11) / 11.0)).take(count).collect();
        let ask = SearchOptions { cosines: cosines.then_some(&given), ..all.options(&scope, &filter, &NoSegments) };
        let hits = search(&ask, &Query::new(&all.index, &scope, &query)).unwrap();
        let tuning = Tuning::of(&scope.shape);
        let near = |of: &[f32], at: usize, to: Option<usize>, share: f32| {
            let to = to.filter(|to| *to < count && to / 20 == at / 20 && !out.contains(to));
            to.map_or(0.0, |to| share * of[to].max(0.0))
        };
        let flow = |of: &[f32], before: f32, after: f32| -> Vec<f32> {
            (0..count).map(|at| near(of, at, at.checked_sub(1), before) + near(of, at, Some(at + 1), after)).collect()
        };
        let spread = |of: &[f32]| {
            let many = f32::from(u16::try_from(count).unwrap());
            let mean = of.iter().sum::<f32>() / many;
            let spread = (of.iter().map(|one| (one - mean).powi(2)).sum::<f32>() / many).sqrt();
            (mean, if spread > 0.0 { spread } else { 1.0 })
        };
        let mut words = vec![0.0_f32; count];
        for hit in &hits {
            words[hit.position] = hit.parts.bm25 + hit.parts.feedback;
        }
        let smooth = flow(&words, tuning.before, tuning.after);
        let sittings: Vec<f32> = (0..count.div_ceil(20))
            .map(|sitting| {
                let of = (sitting * 20..count.min(sitting * 20 + 20)).filter(|at| count > 20 && !out.contains(at));
                of.map(|at| words[at] + smooth[at]).fold(0.0, f32::max)
            })
            .collect();
        let meant: Vec<f32> = given.iter().map(|(_, cosine)| *cosine).collect();
        let around = flow(&meant, tuning.cosine_before, tuning.cosine_after);
        let sums: Vec<f32> = meant.iter().zip(around).map(|(own, near)| own + near).collect();
        let (mean, wide) = spread(&sums);
        let close = |a: f32, b: f32| (a - b).abs() < 1e-3;
        for at in (0..count).filter(|at| !out.contains(at)) {
            let Some(hit) = hits.iter().find(|hit| hit.position == at) else {
                prop_assert!(!cosines && words[at] + smooth[at] + sittings[at / 20] <= 0.0);
                continue;
            };
            prop_assert!(close(hit.parts.smooth, smooth[at]) && close(hit.parts.sitting, tuning.sitting * sittings[at / 20]));
            let gain = tuning.cosine * (sums[at] - mean) / wide * spread(&words).1;
            let gain = if cosines { gain } else { 0.0 };
            prop_assert!(close(hit.parts.cos, gain), "{} {gain}", hit.parts.cos);
            let asked = messages[at].1 == 4;
            prop_assert!((hit.parts.speaker > 0.0) == asked, "{:?} of {:?}", hit.parts, messages[at]);
            if cosines {
                let user = !scope.shape.named && at % 2 == 0;
                let gains = [(asked, tuning.speaker), (user, tuning.user)];
                let [speaker, prior] = gains.map(|(has, share)| if has { share * spread(&words).1 } else { 0.0 });
                prop_assert!(close(hit.parts.speaker, speaker) && close(hit.parts.prior, prior), "{:?}", hit.parts);
            }
        }
    }
}

fn many() -> (Conversation, Vec<u32>) {
    let mut all = Conversation::default();
    let path = (0..6_000_usize)
        .map(|number| {
            let words: Vec<&str> = (0..9).map(|at| WORDS[(number * 7 + at * number / 3) % 16]).collect();
            all.add(&format!("{} note{}", words.join(" "), number % 50))
        })
        .collect();
    (all, path)
}

#[test]
fn stored_segments_give_the_same_results_as_resident_ones() {
    let (all, path) = many();
    let filter = Filter::default();
    let before = all.hits(&path, &filter, "where is the note7 parser header?");
    assert!(before.len() > 100);
    let mut kept = Vec::new();
    let mut again = Conversation { texts: all.texts.clone(), ..Conversation::default() };
    for number in 0..all.index.segments() {
        let Some(sealed) = all.index.sealed(number) else { continue };
        again.index.attach(&sealed.header).unwrap();
        kept.push(sealed);
    }
    assert!(!kept.is_empty());
    for number in again.index.messages()..all.index.messages() {
        let text = all.texts[&Hash::of(&number.to_le_bytes())].clone();
        again.add(&text);
    }
    let source = StoredSegments(kept);
    let scope = Scope::new(&again.index, &path);
    let options = again.options(&scope, &filter, &source);
    assert_eq!(
        search(&options, &Query::new(&again.index, &scope, "where is the note7 parser header?")).unwrap(),
        before
    );
    assert!(
        search(&SearchOptions { source: &NoSegments, ..options }, &Query::new(&again.index, &scope, "note7")).is_err()
    );
}

#[test]
fn open_segments_resume() {
    let mut all = Conversation::default();
    let texts: Vec<String> = (0..60).map(|n| format!("{} note{} on Friday", WORDS[n % 16], n % 9)).collect();
    let path: Vec<u32> = texts[..40].iter().map(|text| all.add_from(Some("Ann Lee"), text)).collect();
    all.add("");
    let tail = all.index.tail().unwrap();
    assert_eq!((tail.passages, tail.keys.len()), (40, 40), "a message without text has no passage");
    assert_eq!(all.index.growing(), 40);
    let mut again = Conversation { texts: all.texts.clone(), ..Conversation::default() };
    for cut in [0, 1, 7, tail.bytes.len() / 3, tail.bytes.len() / 2, tail.bytes.len() - 1] {
        assert!(again.index.resume(&tail.bytes[..cut]).is_err(), "{cut}");
    }
    assert_eq!((again.index.messages(), again.index.segments()), (0, 0), "nothing is changed");
    again.index.resume(&tail.bytes).unwrap();
    assert_eq!(again.index.tail(), Some(tail), "a resumed index writes the same bytes");
    let query = "which note5 parser did Ann mean?";
    assert_eq!(again.hits(&path, &Filter::default(), query), all.hits(&path, &Filter::default(), query));
    let path: Vec<u32> = path
        .into_iter()
        .chain(texts[40..].iter().map(|text| {
            again.add(text);
            all.add(text)
        }))
        .collect();
    assert_eq!(again.hits(&path, &Filter::default(), query), all.hits(&path, &Filter::default(), query));
    all.index.seal();
    again.index.seal();
    assert_eq!(again.index.sealed(0), all.index.sealed(0), "later messages are added as if nothing was resumed");
    assert_eq!((all.index.tail(), all.index.growing()), (None, 0));
}

#[test]
fn damaged_headers_are_refused() {
    let (all, _) = many();
    let sealed = all.index.sealed(0).unwrap();
    let mut index = Index::new();
    for cut in [0, 1, 5, sealed.header.len() / 2, sealed.header.len() - 1] {
        assert!(index.attach(&sealed.header[..cut]).is_err());
    }
    assert_eq!(index.messages(), 0);
    index.attach(&sealed.header).unwrap();
    assert!(index.attach(&sealed.header).is_err(), "it does not follow itself");
}

#[test]
fn neighbors_duplicates_and_names_count() {
    let mut all = Conversation::default();
    let long = "the sourdough needs a hot oven and steam for the first ten minutes so that the crust can open well";
    let mut texts = vec!["what about the oven?", "it should be as hot as it gets", long, "thanks", long];
    texts.extend(["one more thing about the garden"; 8]);
    let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
    let hits = all.hits(&path, &Filter::default(), "how hot is the oven");
    let of = |position: usize| hits.iter().find(|hit| hit.position == position).unwrap();
    assert!(of(1).parts.smooth > 0.0, "the answer gains from its question");
    let scope = Scope::new(&all.index, &path);
    let filter = Filter::default();
    let found = find(&all.options(&scope, &filter, &NoSegments), "how hot is the sourdough oven?", &alone);
    assert!(found.near.iter().any(|near| near.why == MissReason::Duplicate));
    let record = found.record(Gate::Pass(PassReason::Forced), "q", Hash::default(), &|key| *key);
    assert_eq!(record.items.len(), found.cards.len());
}

/// Near misses are reported best first, each with its passage and the missing tokens or score.
#[test]
fn near_misses_report_their_passage_and_shortfall() {
    let mut all = Conversation::default();
    let padding = "a garden with roses and water in the shade. ".repeat(60);
    let mut texts = vec![format!("{padding} In the end the oven is hot.")];
    texts.extend((0..12).map(|n| format!("the oven number {n} of the {} stands in the {}", WORDS[n], WORDS[15 - n])));
    let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
    let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
    let options = all.options(&scope, &filter, &NoSegments);
    let composed = find(&options, "oven", &alone);
    assert!(composed.near.is_empty() && cards_within(&composed, 4_000).len() == 13, "all fit");
    let mut ranked: Vec<&Card> = composed.cards.iter().filter(|card| !card.extends).collect();
    ranked.sort_by_key(|card| card.order);
    let (sent, left_out) = context::within(&composed.offer(), 60);
    let is_sent = |card: &Card, tokens| cards_within(&composed, tokens).iter().any(|(sent, ..)| sent.key == card.key);
    let rest: Vec<usize> = ranked.iter().filter(|card| !is_sent(card, 60)).map(|card| card.position).collect();
    let near: Vec<usize> = left_out.iter().map(|(at, _)| composed.cards[*at].position).collect();
    assert!(!sent.is_empty() && near == rest, "{sent:?} went, {near:?} nearly, of {rest:?}");
    let mut record = composed.record(Gate::Pass(PassReason::Forced), "oven", Hash::default(), &|key| *key);
    let keys: Vec<Hash> = sent.iter().map(|one| composed.cards[one.at].key).collect();
    record.record_sent(&|item| keys.contains(&item.key).then_some(1), &|near| near.why, 4);
    let key = |position: &usize| Hash::of(&path[*position].to_le_bytes());
    let recorded: Vec<Hash> = record.near.iter().map(|near| near.key).collect();
    assert_eq!(recorded, rest.iter().take(4).map(key).collect::<Vec<_>>(), "no more than are wanted");
    for card in &ranked {
        let has_word = texts[card.position][card.spans[0].clone()].contains("oven");
        assert!(has_word == (card.parts.bm25 > 0.0), "{card:?}");
        assert!(card.score > 0.0 && (card.score - card.parts.sum()).abs() < 1e-3);
    }
    let long = ranked.iter().find(|card| card.position == 0).unwrap();
    assert!(long.spans[0].start > 2_000 && long.parts.bm25 > 0.0, "the last passage of a long message");
    let (at, missing) = left_out[0];
    assert!(is_sent(&composed.cards[at], 60 + missing), "with that many more tokens it is included");
    assert!(!is_sent(&composed.cards[at], 59 + missing), "with fewer it is not");
}

/// A message grows by the passages that are found in it. One that does not fit leaves the others.
#[test]
fn a_message_is_sent_with_as_many_passages_as_fit() {
    let mut all = Conversation::default();
    let padding = "a garden with roses and water in the shade. ".repeat(30);
    let long = format!("The oven was cold. {padding} Then the oven was warm. {padding} In the end the oven was hot.");
    let path = [all.add(&long), all.add("thanks for the oven")];
    let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
    let composed = find(&all.options(&scope, &filter, &NoSegments), "oven", &alone);
    let steps = composed.cards.iter().filter(|card| card.position == 0).count();
    assert!(steps > 1 && composed.cards.iter().filter(|card| !card.extends).count() == 2, "{composed:?}");
    let passages = |tokens| {
        let cards = cards_within(&composed, tokens);
        assert!(cards.iter().filter(|(card, ..)| card.position == 0).count() <= 1, "{cards:?}");
        cards.iter().map(|(card, ..)| card.spans.len()).sum::<usize>()
    };
    let counts: Vec<usize> = (0..2_000).step_by(10).map(passages).collect();
    assert!(counts.is_sorted() && counts[0] == 0 && counts.last() == Some(&(steps + 1)), "{counts:?}");
    assert!((0..=steps + 1).all(|count| counts.contains(&count)), "{counts:?}");
}

/// The form of a card depends on the cards that are sent before it: the date once a day, and a mark where messages are
/// left out.
#[test]
fn cards_take_the_form_of_their_place() {
    let mut all = Conversation::default();
    let path: Vec<u32> = (0..22).map(|n| all.add(&format!("the oven is mentioned as number {n}"))).collect();
    let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
    let composed = find(&all.options(&scope, &filter, &NoSegments), "oven", &alone);
    let mut offer = composed.offer();
    let written = |offer: &Offer, position: usize| {
        let sent = context::within(offer, 999).0.into_iter();
        let lines = sent.filter(|one| composed.cards[one.at].position == position);
        lines.map(|one| composed.cards[one.at].text(one.after).replace('\n', "|")).collect::<String>()
    };
    assert_eq!(written(&offer, 0), "[2023-11-14]|user: the oven is mentioned as number 0|");
    assert_eq!(written(&offer, 1), "assistant: the oven is mentioned as number 1|");
    assert_eq!(written(&offer, 20), "[2023-11-15]|user: the oven is mentioned as number 20|");
    let huge = |one: &mut Candidate| one.texts.iter_mut().for_each(|(_, tokens)| *tokens = 9_999);
    for at in [3, 19] {
        huge(&mut offer.candidates[at]);
    }
    assert_eq!(written(&offer, 4), "… user: the oven is mentioned as number 4|");
    assert_eq!(written(&offer, 20), "[2023-11-15]|… user: the oven is mentioned as number 20|");
    offer.candidates[..4].iter_mut().for_each(huge);
    assert_eq!(written(&offer, 4), "[2023-11-14]|… user: the oven is mentioned as number 4|");
}

/// The first 20 messages are from 14 November 2023, the next from 16 November, the last from 17 November.
/// A time finds only messages that may be searched: none that is excluded or sent, and none of another lane.
#[test]
fn a_time_finds_its_messages_without_any_word() {
    let mut conversation = Conversation::default();
    let path: Vec<u32> = (0..60).map(|number| conversation.add(WORDS[number % 16])).collect();
    let scope = Scope::new(&conversation.index, &path);
    let all = Filter::default();
    let excluded = Filter { out: std::iter::once(30..50).collect(), ..Filter::default() };
    let everything = Filter { out: std::iter::once(0..60).collect(), ..Filter::default() };
    let lane = Filter { lane: Some(1), ..Filter::default() };
    for (question, filter, found) in [
        ("What did Paula paint on 17 November?", &all, (40..60).collect()),
        ("What did Paula paint on 17 November?", &excluded, (50..60).collect()),
        ("What did Paula paint on 17 November?", &everything, Vec::new()),
        ("What did Paula paint on 17 November?", &lane, (41..60).step_by(2).collect()),
        ("What did Paula paint on 17 November 2023?", &all, (40..60).collect()),
        ("What did Paula paint on 17 November 2022?", &all, Vec::new()),
        ("What did Paula paint on 3 March?", &all, Vec::new()),
    ] {
        let options = conversation.options(&scope, filter, &NoSegments);
        let open = gate::gate(&options, question).unwrap() == Gate::Pass(PassReason::Time);
        let floor = Floor::new(&options, question).unwrap();
        let hits = conversation.hits(&path, filter, question);
        let mut positions: Vec<usize> =
            hits.iter().filter(|hit| floor.passes(&options, hit)).map(|hit| hit.position).collect();
        positions.sort_unstable();
        assert_eq!((open, positions), (!found.is_empty(), found), "{question} {filter:?}");
    }
}

#[test]
fn cosines_find_what_words_do_not() {
    let mut all = Conversation::default();
    let path: Vec<u32> = (0..40).map(|number| all.add(&format!("note{number} flour"))).collect();
    let scope = Scope::new(&all.index, &path);
    let filter = Filter::default();
    let cosines: Vec<(u32, f32)> = (0..40).map(|at| (at, if at == 31 { 0.9 } else { 0.1 })).collect();
    let options = SearchOptions { cosines: Some(&cosines), ..all.options(&scope, &filter, &NoSegments) };
    let hits = search(&options, &Query::new(&all.index, &scope, "unheard of")).unwrap();
    assert_eq!(hits[0].position, 31);
    assert!(hits[0].parts.cos > 0.0);
    let broken = [(0, f32::NAN), (99, 0.4)];
    let options = SearchOptions { cosines: Some(&broken), ..options };
    assert!(
        search(&options, &Query::new(&all.index, &scope, "flour")).unwrap().iter().all(|hit| hit.score.is_finite())
    );
}

#[test]
fn words_score_by_rarity_frequency_and_length() {
    let mut all = Conversation::default();
    let filler = "garden roses water shade ".repeat(9);
    let mut texts =
        vec![format!("oven {filler}"), "oven bread flour".into(), "oven oven bread".into(), "slot bread flour".into()];
    texts.extend(std::iter::repeat_n("oven wire cache".to_owned(), 8));
    let path: Vec<u32> = texts.iter().map(|text| all.add(text)).collect();
    let hits = all.hits(&path, &Filter::default(), "oven slot");
    let of = |position: usize| hits.iter().find(|hit| hit.position == position).unwrap().parts;
    let (long, short, twice, rare) = (of(0).bm25, of(1).bm25, of(2).bm25, of(3).bm25);
    assert!(0.0 < long && long < short && short < twice && twice < rare, "{long} {short} {twice} {rare}");
    assert!(hits.iter().all(|hit| hit.parts.speaker == 0.0), "nobody is named");
}

#[test]
fn index_memory_grows_with_its_messages() {
    let mut all = Conversation::default();
    assert_eq!(all.index.footprint(), (0, 0));
    for _ in 0..1_000 {
        all.add("token refresh");
    }
    let (lists, known) = all.index.footprint();
    let least = size_of::<super::index::session::IndexedMessage>() + size_of::<(Hash, u32)>();
    assert!((least * 1_000..least * 1_500).contains(&known), "{known}");
    assert!((2 * 1_000..2 * 8_000).contains(&lists), "{lists}: two words, a few bytes for each occurrence");
}

/// Long messages contain many words: two words of a question that occur in different passages of one message are no
/// evidence that the question is about it.
#[test]
fn in_long_messages_one_passage_must_cover_the_question() {
    let mut all = Conversation::default();
    let long_text = |n: usize| (0..300).map(|at| format!("note{n}x{at}")).collect::<Vec<_>>().join(" ");
    let texts = (0..10).map(|n| match n {
        3 => format!("oven {} flour", long_text(n)),
        5 => format!("token refresh {}", long_text(n)),
        _ => long_text(n),
    });
    let path: Vec<u32> = texts.map(|text| all.add(&text)).collect();
    let (scope, filter) = (Scope::new(&all.index, &path), Filter::default());
    let options = all.options(&scope, &filter, &NoSegments);
    let passes = |text: &str| {
        let hits = search(&options, &Query::new(&all.index, &scope, text)).unwrap();
        let floor = Floor::new(&options, text).unwrap();
        (!hits.is_empty(), hits.iter().filter(|hit| floor.passes(&options, hit)).count())
    };
    assert_eq!(passes("Which oven is best for flour with roses and cinnamon?"), (true, 0));
    let (_, found) = passes("How does the token refresh with roses and cinnamon?");
    assert!(found > 0, "no hit has a minimum score");
}
