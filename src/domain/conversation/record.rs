//! Neutral records: readers of import formats produce them, and writers of export formats consume them.
//! Not for: the formats (`import`, `export`).

use super::lane::Lane;
use super::message::{Content, End, Role};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::{NodeId, SessionId};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Number of content bytes after which a portion of records ends.
pub const PORTION: u64 = 2 << 20;

/// Number of records after which a portion ends.
pub const PORTION_RECORDS: usize = 1_000;

/// The key of the message's tag in a message's `extra` in files: `{"label": …, "favourite": true}`.
pub const TAG: &str = "pleach";

/// One imported or exported message.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// The id in the file; derived from the record's position if the file has none.
    pub id: String,
    /// The id of its parent in the file.
    pub parent: Option<String>,
    /// Who wrote it.
    pub role: Role,
    /// The speaker's name.
    pub name: Option<String>,
    pub content: Content,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970; `None` if the file does not say.
    pub at: Option<i64>,
    /// The lane. A chain of replies may name the message at its root by that message's id in the file.
    pub lane: String,
    /// Whether it is listed but never sent.
    pub hidden: bool,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The name that a person gave the message; empty for none.
    pub label: String,
    /// Whether it is a favorite.
    pub favorite: bool,
}

impl Record {
    /// Returns the name that the lane gives to the message at the root of its chain of replies; `None` if it is not a
    /// reply lane.
    pub fn reply_root(&self) -> Option<String> {
        match Lane::read(&self.lane) {
            Lane::Reply(root) => Some(root),
            Lane::Root | Lane::Topic(_) => None,
        }
    }
}

/// One imported or exported session, with parents before children.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Transcript {
    /// The format and id of the source session; a second import uses them to find the first.
    pub source: String,
    pub title: String,
    /// Messages in sibling order, parents first.
    pub records: Vec<Record>,
    /// The id of the message at the head of the conversation.
    pub current: Option<String>,
    /// The branches in the order of their creation; empty if the file contains none.
    pub branches: Vec<BranchPointer>,
}

/// An imported or exported branch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BranchPointer {
    pub name: String,
    /// The id of the message at its head.
    pub head: Option<String>,
    pub archived: bool,
    /// Whether it is the branch in use.
    pub current: bool,
}

/// A record with the numbers of the records that it refers to among the earlier records of the session.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedRecord {
    pub record: Record,
    /// The parent's number, from 0; `None` for a root.
    pub parent: Option<u32>,
    /// The number of the record at the root of its chain of replies, if its lane names a record of this session.
    pub reply_root: Option<u32>,
    /// Whether it is a system message without content. It becomes no message; its children follow its parent.
    pub is_blank: bool,
}

/// A portion of a file, small enough to keep in memory. Sessions are numbered from 0; their portions may alternate.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    /// A session begins.
    Begin {
        /// The session's number.
        session: usize,
        /// See [`Transcript::source`].
        source: String,
        title: String,
    },
    /// The next records of a session, parents first.
    Records {
        /// Number of the session.
        session: usize,
        records: Vec<PlacedRecord>,
    },
    /// A session ends.
    End {
        /// Number of the session.
        session: usize,
        /// The number of the record at the head of the conversation.
        current: Option<u32>,
        /// The branches with the numbers of the records at their heads.
        branches: Vec<(BranchPointer, Option<u32>)>,
    },
}

/// The report on a file that was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The detected format.
    pub format: String,
    /// The records that were skipped.
    pub skipped: Vec<Skipped>,
}

/// A file that is read in portions.
pub trait PieceReader: Send {
    /// Returns the next portion; `None` at the end.
    fn next(&mut self) -> Result<Option<Piece>, Failure>;

    /// Returns the report so far.
    fn report(&mut self) -> Report;
}

/// A reader of portions that can be passed in a request.
#[derive(Clone)]
pub struct IncomingPieces(pub Arc<Mutex<dyn PieceReader>>);

impl IncomingPieces {
    /// Wraps a reader.
    pub fn new(pieces: impl PieceReader + 'static) -> Self {
        Self(Arc::new(Mutex::new(pieces)))
    }
}

impl fmt::Debug for IncomingPieces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IncomingPieces")
    }
}

impl PartialEq for IncomingPieces {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Transcript {
    /// Splits the session into portions, numbered as `session`.
    pub fn pieces(self, session: usize) -> Vec<Piece> {
        let ids: HashMap<&str, u32> = (0..).zip(&self.records).map(|(at, record)| (record.id.as_str(), at)).collect();
        let number = |id: Option<&String>| id.and_then(|id| ids.get(id.as_str())).copied();
        let parents: Vec<Option<u32>> = self.records.iter().map(|record| number(record.parent.as_ref())).collect();
        let roots: Vec<Option<u32>> = (0..)
            .zip(&self.records)
            .map(|(at, record)| number(record.reply_root().as_ref()).filter(|root| *root < at))
            .collect();
        let current = number(self.current.as_ref());
        let heads: Vec<Option<u32>> = self.branches.iter().map(|branch| number(branch.head.as_ref())).collect();
        let mut pieces = vec![Piece::Begin { session, source: self.source, title: self.title }];
        let (mut records, mut bytes) = (Vec::new(), 0);
        for ((record, parent), reply_root) in self.records.into_iter().zip(parents).zip(roots) {
            bytes = record.content.bytes().saturating_add(bytes);
            records.push(PlacedRecord { record, parent, reply_root, is_blank: false });
            if bytes >= PORTION || records.len() >= PORTION_RECORDS {
                pieces.push(Piece::Records { session, records: std::mem::take(&mut records) });
                bytes = 0;
            }
        }
        pieces.push(Piece::Records { session, records });
        pieces.push(Piece::End { session, current, branches: self.branches.into_iter().zip(heads).collect() });
        pieces
    }
}

/// A record that could not be read.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Skipped {
    /// The record's position: line number, or index in the array.
    pub place: String,
    /// The reason.
    pub why: String,
}

/// The contents of a file.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ImportedFile {
    /// The detected format.
    pub format: String,
    /// The sessions.
    pub transcripts: Vec<Transcript>,
    /// The records that were skipped.
    pub skipped: Vec<Skipped>,
}

impl ImportedFile {
    /// Collects all portions of a file.
    pub fn collect(from: &mut dyn PieceReader) -> Result<Self, Failure> {
        let mut transcripts: Vec<Transcript> = Vec::new();
        while let Some(piece) = from.next()? {
            match piece {
                Piece::Begin { source, title, .. } => {
                    transcripts.push(Transcript { source, title, ..Transcript::default() });
                }
                Piece::Records { session, records } => {
                    if let Some(transcript) = transcripts.get_mut(session) {
                        transcript.records.extend(records.into_iter().map(|placed| placed.record));
                    }
                }
                Piece::End { session, current, branches } => {
                    if let Some(transcript) = transcripts.get_mut(session) {
                        let record = current.and_then(|at| transcript.records.get(at as usize));
                        transcript.current = record.map(|record| record.id.clone());
                        transcript.branches = branches.into_iter().map(|(pointer, _)| pointer).collect();
                    }
                }
            }
        }
        let Report { format, skipped } = from.report();
        Ok(Self { format, transcripts, skipped })
    }

    /// Returns the contents as a reader of portions.
    pub fn incoming(self) -> IncomingPieces {
        let report = Report { format: self.format, skipped: self.skipped };
        let pieces: Vec<Piece> =
            self.transcripts.into_iter().enumerate().flat_map(|(at, transcript)| transcript.pieces(at)).collect();
        IncomingPieces::new(LoadedFile { pieces: pieces.into_iter(), report })
    }
}

/// The portions of a file that is already in memory.
struct LoadedFile {
    pieces: std::vec::IntoIter<Piece>,
    report: Report,
}

impl PieceReader for LoadedFile {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        Ok(self.pieces.next())
    }

    fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }
}

/// The result of importing one session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ImportResult {
    /// Number of imported states that wait for approval.
    #[serde(default)]
    pub states: u64,
    pub session: SessionId,
    pub title: String,
    /// Number of new messages.
    pub added: u64,
    /// Number of messages that already existed.
    pub known: u64,
    /// Number of the session's branches.
    #[serde(default)]
    pub branches: u64,
    /// The node at the head of its branch.
    pub head: Option<NodeId>,
}
