//! Readers of foreign formats, into neutral records.
