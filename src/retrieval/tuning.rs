//! Derives the constants of the search from the shape of the text: short chat messages depend on their neighbors, long
//! technical ones are self-contained.
//! Not for: their use (`search`, `smooth`).

use super::scope::Shape;

/// All constants of one search.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tuning {
    /// BM25: how fast repetitions of a term saturate.
    pub k1: f32,
    /// BM25: how much length counts against a passage.
    pub b: f32,
    /// Share of the previous message's score that is added.
    pub before: f32,
    /// Share of the next message's score that is added.
    pub after: f32,
    /// Share of a sitting's best score that all its messages gain.
    pub sitting: f32,
    /// Gain of messages of a speaker named in the query, in standard deviations.
    pub speaker: f32,
    /// Gain of a user's messages if no speaker has a name, in standard deviations.
    pub user: f32,
    /// Gain of messages of the role whose words the query asks for, in standard deviations.
    pub role: f32,
    /// Gain of a message that contains the content that the question's form asks for (a time, a number), in standard
    /// deviations.
    pub form: f32,
    /// Gain of a message from a time that the query names, in standard deviations.
    pub dated: f32,
    /// How strongly cheap passages are preferred by admission: hits are tried by `score / tokens^size_penalty`.
    pub size_penalty: f32,
    /// Weight of the words learned from the best passages.
    pub feedback: f32,
    /// Number of best passages that words are learned from.
    pub feedback_passages: usize,
    /// Number of words that are learned.
    pub feedback_terms: usize,
    /// Weight of cosines relative to words, both in standard deviations.
    pub cosine: f32,
    /// Share of the previous neighbor's cosine.
    pub cosine_before: f32,
    /// Share of the next neighbor's cosine.
    pub cosine_after: f32,
}

impl Tuning {
    /// Returns the constants for a text of this shape.
    pub fn of(shape: &Shape) -> Self {
        let chat = chatty(shape.mean_tokens);
        let mix = |chatty: f32, long: f32| long + (chatty - long) * chat;
        Self {
            k1: mix(0.9, 1.2),
            b: mix(0.4, 0.75),
            before: mix(0.6, 0.2),
            after: mix(0.3, 0.25),
            sitting: mix(0.2, 0.1),
            speaker: 2.0,
            user: mix(0.0, 0.5),
            role: 0.75,
            form: 0.4,
            dated: 1.5,
            size_penalty: mix(0.15, 0.25),
            feedback: mix(0.3, 0.12),
            feedback_passages: 10,
            feedback_terms: 20,
            cosine: 1.0,
            cosine_before: mix(0.3, 0.1),
            cosine_after: mix(0.1, 0.05),
        }
    }
}

/// Returns how chat-like a text is: 1 for a mean of few tokens per message, ½ at 120, toward 0 for long messages.
pub fn chatty(mean_tokens: f32) -> f32 {
    let ratio = mean_tokens / 120.0;
    1.0 / (1.0 + ratio * ratio * ratio)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From mean tokens per message: how chat-like the text is, and the resulting weight of length.
    #[test]
    fn short_messages_are_chat_and_long_ones_are_not() {
        for (mean, chat, b) in
            [(0.0, 1.0, 0.4), (60.0, 8.0 / 9.0, 0.438_889), (120.0, 0.5, 0.575), (240.0, 1.0 / 9.0, 0.711_111)]
        {
            let tuning = Tuning::of(&Shape { mean_tokens: mean, ..Shape::default() });
            assert!(
                (chatty(mean) - chat).abs() < 1e-5 && (tuning.b - b).abs() < 1e-5,
                "{mean}: {} {}",
                chatty(mean),
                tuning.b
            );
        }
    }
}
