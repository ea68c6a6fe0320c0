//! Neutral records: what every import format is read into and every export format is written from.
//! Not for: the formats (`import`, `export`).

use super::message::{Content, End, Role};
use crate::domain::base::failure::Failure;
use crate::domain::base::ids::NodeId;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

/// Content after which a portion of records ends.
pub const PORTION: u64 = 2 << 20;

/// Records after which a portion ends.
pub const PORTION_RECORDS: usize = 1_000;

/// The key in a message's `extra` under which files keep what a person put on it: `{"label": …, "favourite": true}`.
pub const TAG: &str = "pleach";

/// One message on its way in or out.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// Its id in the file; derived from its place where the file has none.
    pub id: String,
    /// The id of its parent in the file.
    pub parent: Option<String>,
    /// Who speaks.
    pub role: Role,
    /// The speaker's name.
    pub name: Option<String>,
    /// What it says.
    pub content: Content,
    /// How it ended.
    pub end: End,
    /// Milliseconds since 1970; none where the file does not say.
    pub at: Option<i64>,
    /// The lane.
    pub lane: String,
    /// Listed but never sent.
    pub hidden: bool,
    /// The model that wrote it.
    pub model: Option<String>,
    /// The name that a person gave it; empty is none.
    pub label: String,
    /// A person starred it.
    pub favourite: bool,
}

/// One session on its way in or out, with parents before children.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Transcript {
    /// Identifies the source session, so that a second import meets the first: format and id.
    pub source: String,
    /// Title.
    pub title: String,
    /// Messages in sibling order, parents first.
    pub records: Vec<Record>,
    /// The id of the message at which the conversation stands.
    pub current: Option<String>,
    /// Its branches in the order in which they were made; none where the file does not name them.
    pub branches: Vec<BranchPointer>,
}

/// A branch on its way in or out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct BranchPointer {
    /// Its name.
    pub name: String,
    /// The id of the message at which it stands.
    pub head: Option<String>,
    /// It is put away.
    pub archived: bool,
    /// It is the one in use.
    pub current: bool,
}

/// A record, and which one of those that came before it in its session is its parent.
#[derive(Clone, PartialEq, Debug)]
pub struct PlacedRecord {
    /// The record.
    pub record: Record,
    /// Its parent's number, counted from 0.
    pub parent: Option<u32>,
}

/// A part of what a file holds, small enough to be kept in memory. Sessions are numbered from 0; their parts may alternate.
#[derive(Clone, PartialEq, Debug)]
pub enum Piece {
    /// A session begins.
    Begin {
        /// Its number.
        session: usize,
        /// See [`Transcript::source`].
        source: String,
        /// Title.
        title: String,
    },
    /// Its next records, parents first.
    Records {
        /// Of which session.
        session: usize,
        /// They.
        records: Vec<PlacedRecord>,
    },
    /// It is over.
    End {
        /// Which.
        session: usize,
        /// The number of the record at which it stands.
        current: Option<u32>,
        /// Its branches, and the numbers of the records at which they stand.
        branches: Vec<(BranchPointer, Option<u32>)>,
    },
}

/// What was found in a file, once all of it was read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The format found.
    pub format: String,
    /// What was skipped.
    pub skipped: Vec<Skipped>,
}

/// A file that is read piece by piece.
pub trait Pieces: Send {
    /// The next piece; none at the end.
    ///
    /// # Errors
    /// What keeps the rest from being read.
    fn next(&mut self) -> Result<Option<Piece>, Failure>;

    /// What was found so far.
    fn report(&mut self) -> Report;
}

/// Pieces on their way through a request.
#[derive(Clone)]
pub struct Incoming(pub Arc<Mutex<dyn Pieces>>);

impl Incoming {
    /// Of these.
    pub fn new(pieces: impl Pieces + 'static) -> Self {
        Self(Arc::new(Mutex::new(pieces)))
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Incoming")
    }
}

impl PartialEq for Incoming {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Transcript {
    /// In pieces, as this session.
    #[must_use]
    pub fn pieces(self, session: usize) -> Vec<Piece> {
        let ids: HashMap<&str, u32> = (0..).zip(&self.records).map(|(at, record)| (record.id.as_str(), at)).collect();
        let number = |id: Option<&String>| id.and_then(|id| ids.get(id.as_str())).copied();
        let parents: Vec<Option<u32>> = self.records.iter().map(|record| number(record.parent.as_ref())).collect();
        let current = number(self.current.as_ref());
        let heads: Vec<Option<u32>> = self.branches.iter().map(|branch| number(branch.head.as_ref())).collect();
        let mut pieces = vec![Piece::Begin { session, source: self.source, title: self.title }];
        let (mut records, mut bytes) = (Vec::new(), 0);
        for (record, parent) in self.records.into_iter().zip(parents) {
            bytes = record.content.bytes().saturating_add(bytes);
            records.push(PlacedRecord { record, parent });
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
    /// Where: line number, or place in the array.
    pub place: String,
    /// Why.
    pub why: String,
}

/// What a file held.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Reading {
    /// The format found.
    pub format: String,
    /// Its sessions.
    pub transcripts: Vec<Transcript>,
    /// What was skipped.
    pub skipped: Vec<Skipped>,
}

impl Reading {
    /// All pieces together.
    ///
    /// # Errors
    /// Those of reading a piece.
    pub fn collect(from: &mut dyn Pieces) -> Result<Self, Failure> {
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

    /// To be read piece by piece.
    #[must_use]
    pub fn incoming(self) -> Incoming {
        let report = Report { format: self.format, skipped: self.skipped };
        let pieces: Vec<Piece> =
            self.transcripts.into_iter().enumerate().flat_map(|(at, transcript)| transcript.pieces(at)).collect();
        Incoming::new(LoadedFile { pieces: pieces.into_iter(), report })
    }
}

/// A file that was read already.
struct LoadedFile {
    pieces: std::vec::IntoIter<Piece>,
    report: Report,
}

impl Pieces for LoadedFile {
    fn next(&mut self) -> Result<Option<Piece>, Failure> {
        Ok(self.pieces.next())
    }

    fn report(&mut self) -> Report {
        std::mem::take(&mut self.report)
    }
}

/// What an import did to one session.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Imported {
    /// States that came with it and wait for a yes.
    #[serde(default)]
    pub states: u64,
    /// The session.
    pub session: crate::domain::base::ids::SessionId,
    /// Its title.
    pub title: String,
    /// Messages that are new.
    pub added: u64,
    /// Messages that were there already.
    pub known: u64,
    /// The node at which its branch stands.
    pub head: Option<NodeId>,
}
