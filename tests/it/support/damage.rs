//! Ways to harm a store's file.
//! Not for: what the program says of it (the tests).

use rusqlite::Connection;
use std::path::Path;

/// Harms a file.
pub(crate) type Harm = fn(&Path);

/// A page turned over, the second half cut off, the head emptied.
pub(crate) const HARMS: [(&str, Harm); 3] = [("a flipped page", flip), ("cut", cut), ("beheaded", behead)];

/// Turns over the first page of the branches, so that messages stay readable.
fn flip(path: &Path) {
    let (root, size) = root(path, "branch");
    turn_over(path, root, size);
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn behead(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..100].fill(0);
    std::fs::write(path, bytes).unwrap();
}

/// Turns over the second leaf of a table that has several.
pub(crate) fn flip_leaf(path: &Path, table: &str) {
    let (root, size) = root(path, table);
    let bytes = std::fs::read(path).unwrap();
    let start = (root - 1) * size;
    assert_eq!(bytes[start], 5, "{table} has several leaves");
    let cell = start + usize::from(u16::from_be_bytes([bytes[start + 14], bytes[start + 15]]));
    let leaf = u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap());
    turn_over(path, usize::try_from(leaf).unwrap(), size);
}

/// A table's root page and the size of pages; the log is merged into the file first.
fn root(path: &Path, table: &str) -> (usize, usize) {
    let store = Connection::open(path).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let number = |sql: &str| usize::try_from(store.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()).unwrap();
    (number(&format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'")), number("PRAGMA page_size"))
}

fn turn_over(path: &Path, page: usize, size: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * size..page * size].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(path, bytes).unwrap();
}
