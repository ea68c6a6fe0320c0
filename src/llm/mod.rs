//! Models: OpenAI-compatible servers, the offline model, recordings, and token counting.
