//! The subject of the open question: its cluster among the last questions of the path.
//! Not for: clustering (`retrieval::cluster`), or how subjects are used (`turns::reflect`).

use crate::domain::base::failure::Failure;
use crate::domain::base::hash::Hash;
use crate::domain::conversation::message::Role;
use crate::domain::planning::plan::Scores;
use crate::engine::plans::input_builder::InputBuilder;
use crate::engine::plans::snapshot::Snapshot;
use crate::retrieval::cluster::{Clusters, HashedQuery, QuestionPlace};
use std::sync::Arc;

/// The number of last questions that are clustered, so that the cost does not grow with the history.
const MAX_QUESTIONS: usize = 32;
/// The number of cached questions at which the cache is cleared.
const MAX_CACHED: usize = 4_096;
/// The maximum number of bytes of a question that are read.
const MAX_BYTES: usize = 4_096;

/// Returns the place of the question among the clusters; `None` if the policy uses no clusters or the question names
/// nothing.
pub(crate) fn place(
    builder: &mut InputBuilder,
    snapshot: &Snapshot,
    asked: Option<&str>,
) -> Result<Option<QuestionPlace>, Failure> {
    if !snapshot.rules.policy.activation.clusters {
        return Ok(None);
    }
    let path = &snapshot.path;
    let preamble = usize::from(path.turns.first().is_some_and(|turn| !turn.asked));
    let closed = path.turns.partition_point(|turn| turn.nodes.start < snapshot.open_at);
    let mut clusters = Clusters::default();
    for at in closed.saturating_sub(MAX_QUESTIONS)..closed {
        let node = path.nodes[path.turns[at].nodes.start];
        if node.role == Role::User && node.speaks {
            let question = hashed(builder, node.key, node.id)?;
            clusters.take(question.as_deref(), number(at + 1, preamble));
        }
    }
    let Some(asked) = asked else { return Ok(None) };
    let hashed = HashedQuery::new(beginning(asked));
    Ok(clusters.place(hashed.as_ref(), number(closed + 1, preamble)))
}

/// Completes the title of the heading over results with their subject, if that began earlier. Also returns the
/// question's similarity to the subject.
pub(crate) fn heading_with_subject(title: String, subject: Option<QuestionPlace>) -> (String, Scores) {
    let Some(QuestionPlace { id, likeness: Some(likeness), new: false }) = subject else {
        return (title, Scores::default());
    };
    let scores = Scores { score: Some(likeness), parts: vec![("subject".to_owned(), likeness)] };
    (format!("{title}, subject of turn {}", id.0), scores)
}

fn hashed(
    builder: &mut InputBuilder,
    key: Hash,
    id: crate::domain::base::ids::NodeId,
) -> Result<Option<Arc<HashedQuery>>, Failure> {
    if let Some(known) = builder.questions.0.get(&key) {
        return Ok(known.clone());
    }
    let words = builder.content(key, Some(id))?.map(|content| content.plain_text()).unwrap_or_default();
    let made = HashedQuery::new(beginning(&words)).map(Arc::new);
    if builder.questions.0.len() >= MAX_CACHED {
        builder.questions.forget();
    }
    builder.questions.0.insert(key, made.clone());
    Ok(made)
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

fn number(turn: usize, preamble: usize) -> u32 {
    u32::try_from(turn.saturating_sub(preamble)).unwrap_or(u32::MAX)
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
        assert_eq!([(5, 0), (5, 1), (0, 1)].map(|(turn, preamble)| number(turn, preamble)), [5, 4, 0]);
    }
}
