//! The constants of the ranking, tuned on the histories of several projects and validated on the others.
//! Not for: limits on sent code, which the caller sets.

/// The constants of the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// How quickly repeats of a term stop counting (BM25's k1).
    pub k1: f32,
    /// How strongly long symbols are penalized (BM25's b).
    pub b: f32,
    /// Weights of the fields: name, head, documentation, body.
    pub fields: [f32; 4],
    /// How strongly long files are penalized.
    pub file_b: f32,
    /// The weight of the file's own score.
    pub file: f32,
    /// The weight of words in the path.
    pub path: f32,
    /// The weight of flow over the graph of uses.
    pub graph: f32,
    /// The share of the flow that goes to users, in hundredths.
    pub back: u64,
    /// Rounds of the flow.
    pub rounds: usize,
    /// The share of the enclosing symbol's score that a symbol gains.
    pub parent: f32,
    /// The share of its neighbors' scores that a symbol gains.
    pub beside: f32,
    /// The weight of a symbol's size.
    pub size: f32,
    /// The weight of the file's size.
    pub file_size: f32,
    /// The factor for tests.
    pub test: f32,
    /// The factor for tests if the query is a question that does not mention tests.
    pub test_asked: f32,
    /// The factor for files of tests if the query is a statement that does not mention tests.
    pub test_stated: f32,
    /// The factor for files as symbols.
    pub whole: f32,
    /// The factor for modules and impl blocks.
    pub shell: f32,
    /// The factor for headings and settings: for a query that may be about them, and for a query about code or a
    /// change.
    pub text: [f32; 2],
    /// The factor for constants and types.
    pub small: f32,
    /// The weight of all lines of a query except the first.
    pub later: f32,
    /// The weight of verbs of change in a query.
    pub verb: f32,
    /// The weight of joined words.
    pub joined: f32,
    /// The weight of abbreviations and longer forms.
    pub prefix: f32,
    /// The bonus for a name that is spelled out in the query.
    pub exact: f32,
    /// How much less each additional symbol of one file counts.
    pub spread: f32,
    /// The same for the few symbols that a plan sends, as shares of the best score: for the first ones, and for the
    /// rest.
    pub spread_sent: [f32; 2],
    /// The number of first ones.
    pub first_sent: usize,
}

impl Tuning {
    /// Returns the constants for the few symbols that a plan sends. Large symbols, files, and types count more, because
    /// one symbol represents its file. Files of tests count less, because they are rarely the code to change.
    pub fn for_plans() -> Self {
        Self { size: 0.1, small: 1.0, whole: 0.8, test_stated: 0.5, ..Self::default() }
    }
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            k1: 1.2,
            b: 0.25,
            fields: [5.0, 1.5, 1.5, 1.0],
            file_b: 0.2,
            file: 0.6,
            path: 0.4,
            graph: 0.4,
            back: 40,
            rounds: 3,
            parent: 0.1,
            beside: 0.1,
            size: 0.05,
            file_size: 0.02,
            test: 0.85,
            test_asked: 0.5,
            test_stated: 0.85,
            whole: 0.5,
            shell: 0.7,
            text: [0.5, 0.15],
            small: 0.9,
            later: 0.6,
            verb: 0.3,
            joined: 0.8,
            prefix: 0.3,
            exact: 0.5,
            spread: 0.06,
            spread_sent: [0.06, 0.4],
            first_sent: 6,
        }
    }
}
