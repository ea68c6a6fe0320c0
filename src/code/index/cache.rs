//! Stores records between starts: one append-only file for each workspace. Each entry has a checksum. Entries after a
//! damaged one are dropped, and their files are read again. A file of another version is replaced.
//! Not for: encoding records (`codec`), or choosing the file's path (the caller does).

use super::codec::{ByteReader, ByteWriter};
use super::record::{FileStamp, Record};
use super::records::Index;
use crate::code::CodeError;
use crate::domain::base::hash::{Fields, Hash};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first bytes of a cache file. The number increases with every change to records or to what is read from sources.
const MAGIC: &[u8] = b"pleach code index 1\n";
/// Bytes before each entry: its length and a checksum.
const FRAME: usize = 4 + 16;
/// The longest entry that is accepted.
const LONGEST: usize = 256 << 20;

const RECORD: u8 = 0;
const GONE: u8 = 1;
const TOUCHED: u8 = 2;

/// The result of opening a cache file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The number of records that were put into the index.
    pub records: usize,
    /// Whether the file was damaged, or from another version or workspace.
    pub damaged: bool,
}

/// The cache file of one workspace.
pub struct Cache {
    path: PathBuf,
    head: Vec<u8>,
    /// `None` while another process writes the file.
    file: Option<BufWriter<File>>,
    /// The offset and length of each path's newest entry.
    places: HashMap<PathBuf, (u64, usize)>,
    end: u64,
    entries: usize,
}

impl Cache {
    /// Opens the file for the workspace at `root` and puts its records into the index. While another process has it
    /// open, the file is read but not written.
    ///
    /// # Errors
    /// When the file can neither be read nor created.
    pub fn open(path: &Path, root: &Path, index: &mut Index) -> Result<(Self, Loaded), CodeError> {
        let mut head = MAGIC.to_vec();
        let mut name = ByteWriter::default();
        name.path(root);
        head.extend_from_slice(&Fields::new("workspace").bytes(&name.0).finish().0);
        let mut file = private(path, false).map_err(CodeError::Cache)?;
        let mine = file.try_lock().is_ok();
        let mut cache = Self { path: path.to_path_buf(), head, file: None, places: HashMap::new(), end: 0, entries: 0 };
        let loaded = cache.load(&mut file, index).map_err(CodeError::Cache)?;
        if mine {
            if cache.end == 0 {
                file.set_len(0).map_err(CodeError::Cache)?;
                file.seek(SeekFrom::Start(0)).map_err(CodeError::Cache)?;
                file.write_all(&cache.head).map_err(CodeError::Cache)?;
                cache.end = cache.head.len() as u64;
            } else {
                file.set_len(cache.end).map_err(CodeError::Cache)?;
                file.seek(SeekFrom::Start(cache.end)).map_err(CodeError::Cache)?;
            }
            cache.file = Some(BufWriter::with_capacity(1 << 18, file));
        }
        Ok((cache, loaded))
    }

    fn load(&mut self, file: &mut File, index: &mut Index) -> std::io::Result<Loaded> {
        let mut loaded = Loaded::default();
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut head = vec![0; self.head.len()];
        match reader.read_exact(&mut head) {
            Ok(()) if head == self.head => self.end = head.len() as u64,
            Ok(()) => return Ok(Loaded { records: 0, damaged: true }),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(loaded),
            Err(error) => return Err(error),
        }
        let mut payload = Vec::new();
        while let Some(whole) = entry(&mut reader, &mut payload)? {
            if !whole || self.take(&payload, index).is_none() {
                loaded.damaged = true;
                break;
            }
            self.end += (FRAME + payload.len()) as u64;
            self.entries += 1;
        }
        loaded.records = index.files().count();
        Ok(loaded)
    }

    /// Puts an entry into the index. Returns `None` when it is invalid.
    fn take(&mut self, payload: &[u8], index: &mut Index) -> Option<()> {
        let mut reading = ByteReader(payload);
        match reading.byte()? {
            RECORD => {
                let record = reading.record()?;
                index.insert(&record);
                self.places.insert(record.path, (self.end, FRAME + payload.len()));
            }
            GONE => {
                let path = reading.path()?;
                index.remove(&path);
                self.places.remove(&path);
            }
            TOUCHED => {
                let path = reading.path()?;
                index.touch(&path, reading.stamp()?);
            }
            _ => return None,
        }
        Some(())
    }

    /// Whether changes are written to the file.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.file.is_some()
    }

    /// Adds a record.
    pub fn keep(&mut self, record: &Record) {
        let mut writer = ByteWriter(vec![RECORD]);
        writer.record(record);
        let place = (self.end, FRAME + writer.0.len());
        if self.add(&writer.0) {
            self.places.insert(record.path.clone(), place);
        }
    }

    /// Records that a file was removed.
    pub fn gone(&mut self, path: &Path) {
        let mut writer = ByteWriter(vec![GONE]);
        writer.path(path);
        self.places.remove(path);
        self.add(&writer.0);
    }

    /// Records a new time of a file whose bytes are the same.
    pub fn touched(&mut self, path: &Path, stamp: FileStamp) {
        let mut writer = ByteWriter(vec![TOUCHED]);
        writer.path(path);
        writer.stamp(stamp);
        self.add(&writer.0);
    }

    /// Appends an entry. After a write error the cache stops writing: the index stays in memory, and the next start
    /// reads the sources.
    fn add(&mut self, payload: &[u8]) -> bool {
        let Some(file) = &mut self.file else { return false };
        let written =
            frame(payload).is_some_and(|frame| file.write_all(&frame).and_then(|()| file.write_all(payload)).is_ok());
        if written {
            self.end += (FRAME + payload.len()) as u64;
            self.entries += 1;
        } else {
            self.file = None;
        }
        written
    }

    /// Writes pending entries, and rewrites the whole file when most of it is out of date.
    ///
    /// # Errors
    /// When the disk fails. What was written before stays.
    pub fn flush(&mut self) -> Result<(), CodeError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush().map_err(CodeError::Cache)?;
        if self.entries > 2 * self.places.len() + 500 { self.rewrite().map_err(CodeError::Cache) } else { Ok(()) }
    }

    fn rewrite(&mut self) -> std::io::Result<()> {
        let beside = self.path.with_extension("new");
        let new = private(&beside, true)?;
        new.try_lock().map_err(|_| std::io::Error::from(ErrorKind::ResourceBusy))?;
        let mut old = File::open(&self.path)?;
        let mut out = BufWriter::with_capacity(1 << 18, new);
        out.write_all(&self.head)?;
        let mut end = self.head.len() as u64;
        let mut places: Vec<(PathBuf, (u64, usize))> = self.places.drain().collect();
        places.sort_unstable_by_key(|(_, (start, _))| *start);
        let mut bytes = Vec::new();
        for (path, (start, length)) in places {
            bytes.resize(length, 0);
            old.seek(SeekFrom::Start(start))?;
            old.read_exact(&mut bytes)?;
            out.write_all(&bytes)?;
            self.places.insert(path, (end, length));
            end += length as u64;
        }
        out.flush()?;
        std::fs::rename(&beside, &self.path)?;
        self.entries = self.places.len();
        self.end = end;
        self.file = Some(out);
        Ok(())
    }
}

/// The bytes before an entry. Returns `None` when the entry is too long.
fn frame(payload: &[u8]) -> Option<[u8; FRAME]> {
    let mut frame = [0; FRAME];
    let length = u32::try_from(payload.len()).ok().filter(|length| *length as usize <= LONGEST)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..].copy_from_slice(&Hash::of(payload).0[..16]);
    Some(frame)
}

/// Reads the next entry. Returns `None` at the end, and false when it is cut off or damaged.
fn entry(reader: &mut impl Read, payload: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    let mut frame = [0; FRAME];
    let mut got = 0;
    while got < FRAME {
        match reader.read(&mut frame[got..])? {
            0 if got == 0 => return Ok(None),
            0 => return Ok(Some(false)),
            more => got += more,
        }
    }
    let mut length = [0; 4];
    length.copy_from_slice(&frame[..4]);
    let length = u32::from_le_bytes(length) as usize;
    if length > LONGEST {
        return Ok(Some(false));
    }
    payload.clear();
    let read = reader.by_ref().take(length as u64).read_to_end(payload)?;
    Ok(Some(read == length && Hash::of(payload).0[..16] == frame[4..]))
}

/// Opens a file that only its owner can read.
fn private(path: &Path, empty: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
