//! Logs: where they go and what may never be in them.
