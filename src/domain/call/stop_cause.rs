//! Why a server stopped an answer, from its finish reason.
//! Not for: how the call ended for the program (`provider`).

/// Why a server stopped an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StopCause {
    /// The answer reached the limit on its length.
    OutputLimit,
    /// A content filter stopped it.
    ContentFilter,
    /// Any other reason, such as the end of the answer.
    Other,
}

/// The finish reasons of a length limit, by the names that servers and models use.
const LIMITS: [&str; 4] = ["length", "max_tokens", "model_length", "max_output_tokens"];
/// The finish reasons of a content filter, by the names that servers and models use.
const FILTERS: [&str; 7] =
    ["content_filter", "content-filter", "safety", "prohibited_content", "blocklist", "recitation", "spii"];

impl StopCause {
    /// Sorts a finish reason, in any case.
    pub fn of(finish_reason: &str) -> Self {
        let is_one_of = |names: &[&str]| names.iter().any(|name| name.eq_ignore_ascii_case(finish_reason));
        if is_one_of(&LIMITS) {
            Self::OutputLimit
        } else if is_one_of(&FILTERS) {
            Self::ContentFilter
        } else {
            Self::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::StopCause;

    #[test]
    fn finish_reasons_are_sorted_in_any_case() {
        use StopCause::{ContentFilter as Filter, Other, OutputLimit as Limit};
        let all = ["length", "MAX_TOKENS", "content_filter", "SAFETY", "stop", "", "tool_calls"].map(StopCause::of);
        assert_eq!(all, [Limit, Limit, Filter, Filter, Other, Other, Other]);
    }
}
