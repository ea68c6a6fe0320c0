//! One line of the report on servers, the store and the settings (`pleach doctor`).
//! Not for: finding anything (the engine).

/// One line of a doctor's report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// What was looked at: "store", "profile openai", …
    pub subject: String,
    /// Whether it is well; `None` for plain facts.
    pub ok: Option<bool>,
    /// What was found.
    pub text: String,
    /// What to do, where something should be done.
    pub todo: String,
    /// The same for programs, each by a name of its own; of plain findings nothing.
    pub facts: Vec<(&'static str, String)>,
}
