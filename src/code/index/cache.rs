//! Stores records between starts: one append-only file for each workspace. Each entry has a checksum. Entries after a
//! damaged entry are dropped, and their files are read again. A file of another version is replaced.
//! Not for: encoding records (`codec`), or choosing the file's path (the caller does).

use super::codec::{ByteReader, ByteWriter};
use super::record::{FileStamp, Record};
use super::records::Index;
use crate::code::CodeError;
use crate::domain::base::{Fields, Hash};
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The first bytes of a cache file. The number increases with every change to records or to the reading of sources.
const MAGIC: &[u8] = b"pleach code index 2\n";
/// Bytes before each entry: its length and a checksum.
const FRAME_BYTES: usize = 4 + 16;
/// Maximum bytes of an entry that is accepted.
const MAX_ENTRY_BYTES: usize = 256 << 20;

const RECORD: u8 = 0;
const GONE: u8 = 1;
const TOUCHED: u8 = 2;

/// The cache file of one workspace.
pub struct Cache {
    path: PathBuf,
    header: Vec<u8>,
    /// `None` while another process writes the file.
    file: Option<BufWriter<File>>,
    /// The offset and length of each path's newest entry.
    places: HashMap<PathBuf, (u64, usize)>,
    end: u64,
    entries: usize,
}

impl Cache {
    /// Opens the file for the workspace at `root` and puts its records into the index. While another process has it
    /// open, the file is read but not written. Also returns whether the file was damaged, or from another version or
    /// workspace.
    pub fn open(path: &Path, root: &Path, index: &mut Index) -> Result<(Self, bool), CodeError> {
        let mut header = MAGIC.to_vec();
        let mut name = ByteWriter::default();
        name.path(root);
        header.extend_from_slice(&Fields::new("workspace").bytes(&name.0).finish().0);
        let mut file = open_private(path, false).map_err(CodeError::Cache)?;
        let locked = file.try_lock().is_ok();
        let mut cache =
            Self { path: path.to_path_buf(), header, file: None, places: HashMap::new(), end: 0, entries: 0 };
        let is_damaged = cache.load(&mut file, index).map_err(CodeError::Cache)?;
        if locked {
            if cache.end == 0 {
                file.set_len(0).map_err(CodeError::Cache)?;
                file.seek(SeekFrom::Start(0)).map_err(CodeError::Cache)?;
                file.write_all(&cache.header).map_err(CodeError::Cache)?;
                cache.end = cache.header.len() as u64;
            } else {
                file.set_len(cache.end).map_err(CodeError::Cache)?;
                file.seek(SeekFrom::Start(cache.end)).map_err(CodeError::Cache)?;
            }
            cache.file = Some(BufWriter::with_capacity(1 << 18, file));
        }
        Ok((cache, is_damaged))
    }

    /// Puts the records of the file into the index. Returns whether the file was damaged, or from another version or
    /// workspace.
    fn load(&mut self, file: &mut File, index: &mut Index) -> std::io::Result<bool> {
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut header = vec![0; self.header.len()];
        match reader.read_exact(&mut header) {
            Ok(()) if header == self.header => self.end = header.len() as u64,
            Ok(()) => return Ok(true),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(false),
            Err(error) => return Err(error),
        }
        let mut payload = Vec::new();
        while let Some(whole) = read_entry(&mut reader, &mut payload)? {
            if !whole || self.apply_entry(&payload, index).is_none() {
                return Ok(true);
            }
            self.end += (FRAME_BYTES + payload.len()) as u64;
            self.entries += 1;
        }
        Ok(false)
    }

    /// Puts an entry into the index. Returns `None` when it is invalid.
    fn apply_entry(&mut self, payload: &[u8], index: &mut Index) -> Option<()> {
        let mut reading = ByteReader(payload);
        match reading.byte()? {
            RECORD => {
                let record = reading.record()?;
                index.insert(&record);
                self.places.insert(record.path, (self.end, FRAME_BYTES + payload.len()));
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

    /// Returns whether changes are written to the file.
    pub fn writes(&self) -> bool {
        self.file.is_some()
    }

    /// Appends the record of a file that was read.
    pub fn keep(&mut self, record: &Record) {
        let mut writer = ByteWriter(vec![RECORD]);
        writer.record(record);
        let place = (self.end, FRAME_BYTES + writer.0.len());
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

    /// Records a new modification time of a file whose bytes are unchanged.
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
            self.end += (FRAME_BYTES + payload.len()) as u64;
            self.entries += 1;
        } else {
            self.file = None;
        }
        written
    }

    /// Writes pending entries, and rewrites the whole file when most of it is out of date.
    ///
    /// # Errors
    /// When the disk fails. Entries that were already written stay.
    pub fn flush(&mut self) -> Result<(), CodeError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.flush().map_err(CodeError::Cache)?;
        if self.entries > 2 * self.places.len() + 500 { self.rewrite().map_err(CodeError::Cache) } else { Ok(()) }
    }

    fn rewrite(&mut self) -> std::io::Result<()> {
        let new_path = self.path.with_extension("new");
        let new = open_private(&new_path, true)?;
        new.try_lock().map_err(|_| std::io::Error::from(ErrorKind::ResourceBusy))?;
        let mut old = File::open(&self.path)?;
        let mut out = BufWriter::with_capacity(1 << 18, new);
        out.write_all(&self.header)?;
        let mut end = self.header.len() as u64;
        let mut old_places: Vec<(&PathBuf, (u64, usize))> = self.places.iter().map(|(path, at)| (path, *at)).collect();
        old_places.sort_unstable_by_key(|(_, (start, _))| *start);
        let mut places = HashMap::with_capacity(old_places.len());
        let mut bytes = Vec::new();
        for (path, (start, length)) in old_places {
            bytes.resize(length, 0);
            old.seek(SeekFrom::Start(start))?;
            old.read_exact(&mut bytes)?;
            out.write_all(&bytes)?;
            places.insert(path.clone(), (end, length));
            end += length as u64;
        }
        out.flush()?;
        std::fs::rename(&new_path, &self.path)?;
        self.entries = places.len();
        (self.places, self.end, self.file) = (places, end, Some(out));
        Ok(())
    }
}

/// Returns the bytes before an entry: its length and checksum. Returns `None` when the entry is too long.
fn frame(payload: &[u8]) -> Option<[u8; FRAME_BYTES]> {
    let mut frame = [0; FRAME_BYTES];
    let length = u32::try_from(payload.len()).ok().filter(|length| *length as usize <= MAX_ENTRY_BYTES)?;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    frame[4..].copy_from_slice(&Hash::of(payload).0[..16]);
    Some(frame)
}

/// Reads the next entry. Returns `None` at the end, `Some(false)` when the entry is cut off or damaged, and
/// `Some(true)` otherwise.
fn read_entry(reader: &mut impl Read, payload: &mut Vec<u8>) -> std::io::Result<Option<bool>> {
    let mut frame = [0; FRAME_BYTES];
    let mut filled = 0;
    while filled < FRAME_BYTES {
        match reader.read(&mut frame[filled..])? {
            0 if filled == 0 => return Ok(None),
            0 => return Ok(Some(false)),
            more => filled += more,
        }
    }
    let mut length = [0; 4];
    length.copy_from_slice(&frame[..4]);
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_ENTRY_BYTES {
        return Ok(Some(false));
    }
    payload.clear();
    let read = reader.by_ref().take(length as u64).read_to_end(payload)?;
    Ok(Some(read == length && Hash::of(payload).0[..16] == frame[4..]))
}

/// Opens a file that only its owner can read.
fn open_private(path: &Path, empty: bool) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(empty);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
