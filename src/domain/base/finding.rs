//! A line of the report on servers, the store, and the settings (`pleach doctor`).
//! Not for: examining anything (`engine`).

/// A line of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// The examined part, such as "store" or "profile openai".
    pub subject: String,
    /// Whether it is in order; `None` for plain facts.
    pub ok: Option<bool>,
    /// The result of the examination.
    pub text: String,
    /// The next step; empty if there is nothing to do.
    pub todo: String,
    /// The findings for programs, as names and values; empty if the text says everything.
    pub facts: Vec<(&'static str, String)>,
}

impl Finding {
    /// Creates a line without findings for programs.
    pub fn new(subject: &str, ok: Option<bool>, text: String, todo: &str) -> Self {
        Self { subject: subject.to_owned(), ok, text, todo: todo.to_owned(), facts: Vec::new() }
    }
}
