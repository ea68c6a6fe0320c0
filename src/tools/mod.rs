//! Read-only tools for the model, confined to the workspace folder.
