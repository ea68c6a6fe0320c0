//! The subject of the open question: its cluster among the last questions of the path.
//! Not for: clustering (`retrieval::cluster`), or how subjects are used (`turns::reflect`).

use super::retrieval::limits;
use crate::domain::base::{Failure, Hash, NodeId};
use crate::domain::conversation::Role;
use crate::domain::planning::Scores;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::cluster::{Clusters, QuestionPlace, QuestionVector};
use crate::retrieval::vectors::memory::Code;
use std::sync::Arc;

/// The number of last questions that are clustered, so that the cost does not grow with the history.
const MAX_QUESTIONS: usize = 32;
/// The number of cached questions at which the cache is cleared.
const MAX_CACHED: usize = 4_096;
/// The maximum number of bytes of a question that are read.
const MAX_BYTES: usize = 4_096;

/// Returns the place of the question among the clusters; `None` if the policy uses no clusters or the question names
/// nothing. If there is an embedder and the mode allows retrieval, questions are compared by their vectors, once all of
/// them have one; otherwise by their words.
pub(crate) fn place(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<&str>,
) -> Result<Option<QuestionPlace>, Failure> {
    if !snapshot.rules.policy.activation.clusters {
        return Ok(None);
    }
    let path = &snapshot.path;
    let closed = path.turns.partition_point(|turn| turn.nodes.start < snapshot.open_at);
    let Some(asked) = asked else { return Ok(None) };
    let mut questions = Vec::with_capacity(MAX_QUESTIONS);
    for at in closed.saturating_sub(MAX_QUESTIONS)..closed {
        let node = path.nodes[path.turns[at].nodes.start];
        if node.role == Role::User && node.speaks {
            questions.push((node.key, path.number(at), hashed(builder, node.key, node.id)?));
        }
    }
    let hashed = QuestionVector::of_words(beginning(asked));
    let number = path.number(closed);
    if let Some((vectors, open)) = embedded(builder, snapshot, &questions, (asked, hashed.is_some()))? {
        let mut clusters = Clusters::of_embedded();
        for ((_, number, _), vector) in questions.iter().zip(&vectors) {
            clusters.take(vector.as_ref(), *number);
        }
        return Ok(clusters.place(Some(&open), number));
    }
    let mut clusters = Clusters::default();
    for (_, number, question) in &questions {
        clusters.take(question.as_deref(), *number);
    }
    Ok(clusters.place(hashed.as_ref(), number))
}

/// A question of the path: its key, its turn's number, and its hashed words if it has any.
type PastQuestion = (Hash, u32, Option<Arc<QuestionVector>>);

/// The vectors of the last questions and of the open question.
type EmbeddedQuestions = (Vec<Option<QuestionVector>>, QuestionVector);

/// Returns the vectors of the last questions, `None` for each question without content words, and of the open one;
/// `None` unless all these vectors exist.
fn embedded(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    questions: &[PastQuestion],
    (asked, has_content): (&str, bool),
) -> Result<Option<EmbeddedQuestions>, Failure> {
    let path = &snapshot.path.nodes[..snapshot.open_at];
    let wants = builder.finder.vectors.is_some() && has_content && limits(snapshot).retrieval_tokens > 0;
    if !wants || path.is_empty() || builder.finder.index_path(snapshot.session, path)? > 0 {
        return Ok(None);
    }
    let path_index = builder.finder.path_index(snapshot.session, path)?;
    let vector = |(key, _, hashed): &PastQuestion| match hashed {
        Some(_) => path_index.vector(key).and_then(QuestionVector::embedded).map(Some),
        None => Some(None),
    };
    let Some(vectors) = questions.iter().map(vector).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let open = path_index.vectors.and_then(|vectors| vectors.question(asked, snapshot.priority));
    let open = open.and_then(|vector| Code::of(&vector).ok()).and_then(|code| QuestionVector::embedded(code.values()));
    Ok(open.map(|open| (vectors, open)))
}

/// Completes the title of the heading over results with their subject, if that subject began earlier. Also returns the
/// question's similarity to the subject.
pub(crate) fn heading_with_subject(title: String, subject: Option<QuestionPlace>) -> (String, Scores) {
    let Some(QuestionPlace { id, likeness: Some(likeness), new: false }) = subject else {
        return (title, Scores::default());
    };
    let scores = Scores { score: Some(likeness), parts: vec![("subject".to_owned(), likeness)] };
    (format!("{title}, subject of turn {}", id.0), scores)
}

fn hashed(builder: &mut InputBuilder, key: Hash, id: NodeId) -> Result<Option<Arc<QuestionVector>>, Failure> {
    if let Some(known) = builder.questions.get(&key) {
        return Ok(known.clone());
    }
    let words = builder.content(key, Some(id))?.map(|content| content.plain_text()).unwrap_or_default();
    let made = QuestionVector::of_words(beginning(&words)).map(Arc::new);
    if builder.questions.len() >= MAX_CACHED {
        builder.questions.clear();
    }
    builder.questions.insert(key, made.clone());
    Ok(made)
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_beginning_of_a_long_question_is_read() {
        assert_eq!(beginning("why?"), "why?");
        let long = "é".repeat(MAX_BYTES);
        assert!(long.starts_with(beginning(&long)) && (MAX_BYTES - 1..=MAX_BYTES).contains(&beginning(&long).len()));
    }

    #[test]
    fn an_earlier_subject_is_named() {
        use crate::domain::call::retrieval_set::ClusterId;
        let place = |likeness, new| Some(QuestionPlace { id: ClusterId(4), likeness, new });
        let found = |place| heading_with_subject("3 found".into(), place);
        assert_eq!(found(None), ("3 found".into(), Scores::default()));
        assert_eq!(found(place(None, false)).0, "3 found");
        assert_eq!(found(place(Some(700), true)).0, "3 found");
        let scores = Scores { score: Some(700), parts: vec![("subject".into(), 700)] };
        assert_eq!(found(place(Some(700), false)), ("3 found, subject of turn 4".into(), scores));
    }
}
