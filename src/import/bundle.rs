//! Imports a bundle: its messages and branches, as from JSON lines. Each record's hash is checked; a record that does not
//! match is reported, and imported if it can be read.
//! Not for: the records of calls, which are not imported, or checking a whole bundle (`verify`).

use super::json::{self, Object};
use super::lines::Stream;
use super::split::{Element, KeptPart};
use crate::domain::base::record_chain::{CHAIN_FIELDS, ChainFault, ChainReader, heading};
use crate::domain::call::bundle::{KEY_FIELD, RecordKind};
use serde::de::IgnoredAny;
use std::io;

/// The name of the format.
const FORMAT: &str = "bundle";

/// The state of reading a bundle.
pub(super) struct BundleCheck {
    chain: ChainReader,
    /// Whether the last record was read.
    ended: bool,
}

/// A fault of the record, and whether it contains a message or a branch.
pub(super) struct CheckedRecord {
    fault: Option<ChainFault>,
    is_read: bool,
}

impl Stream {
    /// Checks a record if the file is a bundle, which a header begins. Returns `None` for other files.
    pub(super) fn check_record(&mut self, element: &Element) -> Option<CheckedRecord> {
        let line = element.bytes.trim_ascii_end();
        let kind = heading(line).and_then(|(name, _)| RecordKind::from_name(name));
        if self.bundle.is_none() {
            kind.filter(|kind| *kind == RecordKind::Header)?;
            self.format = Some(FORMAT);
            self.bundle = Some(BundleCheck { chain: ChainReader::default(), ended: false });
        }
        let bundle = self.bundle.as_mut()?;
        bundle.ended |= kind == Some(RecordKind::End);
        let fault = match element.kept {
            KeptPart::Whole => bundle.chain.check(&[line, b"\n"].concat()).err(),
            KeptPart::Part | KeptPart::Nothing => {
                bundle.chain.pass(line);
                None
            }
        };
        // What is not JSON is reported when it is read.
        let is_json = || serde_json::from_slice::<IgnoredAny>(line).is_ok();
        let fault = fault.filter(|fault| *fault != ChainFault::NotARecord || is_json());
        let is_read = matches!(kind, None | Some(RecordKind::Header | RecordKind::Message | RecordKind::Branch));
        Some(CheckedRecord { fault, is_read })
    }

    /// Reports a checked record. Returns whether it is to be read.
    pub(super) fn report_record(&mut self, record: Option<CheckedRecord>, place: &str) -> bool {
        let Some(CheckedRecord { fault, is_read }) = record else { return true };
        if let Some(fault) = fault {
            let read = if is_read { "; what can be read of it was imported" } else { "" };
            self.notes.skip(place, format!("{fault}{read}"));
        }
        is_read
    }

    /// Begins the session of a bundle's header. Returns whether the object is one.
    pub(super) fn begin_bundle(&mut self, object: &mut Object) -> io::Result<bool> {
        let is_header =
            self.bundle.is_some() && json::text(object, CHAIN_FIELDS[0]).is_some_and(|kind| kind == "header");
        if is_header {
            let (session, source) = (json::id(object, "session"), json::text(object, "source"));
            let title = json::text(object, "title");
            self.session_buffer(session, source, title)?;
        }
        Ok(is_header)
    }

    /// Reports a bundle without its last record.
    pub(super) fn end_bundle(&mut self) {
        if self.bundle.as_ref().is_some_and(|bundle| !bundle.ended) {
            self.notes.skip("file", "the bundle is cut off: its last record is missing");
        }
    }
}

/// Removes what a bundle adds to a message.
pub(super) fn strip(object: &mut Object) {
    if object.contains_key(CHAIN_FIELDS[2]) {
        for name in CHAIN_FIELDS.into_iter().chain([KEY_FIELD]) {
            object.shift_remove(name);
        }
    }
}
