//! The numbers of the ranking. Found on the histories of several projects, each checked on the others.
//! Not for: limits of what is sent; those are the caller's.

/// Weights of the ranking.
#[derive(Clone, Debug, PartialEq)]
pub struct Tuning {
    /// How soon repeats of a term stop counting (BM25's k1).
    pub k1: f32,
    /// How much long symbols are held back (BM25's b).
    pub b: f32,
    /// Weight of the fields: name, head, doc, body.
    pub fields: [f32; 4],
    /// How much long files are held back.
    pub file_b: f32,
    /// Weight of the file's own score.
    pub file: f32,
    /// Weight of words in the path.
    pub path: f32,
    /// Weight of what uses and is used.
    pub graph: f32,
    /// Share of the flow that goes to users, in hundredths.
    pub back: u64,
    /// Rounds of the flow.
    pub rounds: usize,
    /// Share that a symbol gets of the one around it.
    pub parent: f32,
    /// Share that a symbol gets of the ones before and after it.
    pub beside: f32,
    /// Weight of a symbol's size.
    pub size: f32,
    /// Weight of the file's size.
    pub file_size: f32,
    /// Factor for tests.
    pub test: f32,
    /// Factor for files as symbols.
    pub whole: f32,
    /// Factor for modules and impls.
    pub shell: f32,
    /// Factor for constants and types.
    pub small: f32,
    /// Weight of all but the first line of a query.
    pub later: f32,
    /// Weight of verbs of change in a query.
    pub verb: f32,
    /// Weight of joined words.
    pub joined: f32,
    /// Weight of abbreviations and longer forms.
    pub prefix: f32,
    /// Bonus for a name that is written out in the query.
    pub exact: f32,
    /// Symbols of one file after which the next ones count less.
    pub spread: f32,
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
            graph: 0.2,
            back: 40,
            rounds: 2,
            parent: 0.1,
            beside: 0.1,
            size: 0.05,
            file_size: 0.02,
            test: 0.85,
            whole: 0.5,
            shell: 0.7,
            small: 0.9,
            later: 0.6,
            verb: 0.3,
            joined: 0.8,
            prefix: 0.3,
            exact: 0.5,
            spread: 0.03,
        }
    }
}
