//! Ways to damage a store's file.
//! Not for: the program's reaction (the tests).

use rusqlite::Connection;
use std::path::Path;

/// Damages a file.
pub(crate) type Damage = fn(&Path);

/// An inverted page, a file cut in half, and a zeroed header.
pub(crate) const DAMAGES: [(&str, Damage); 3] = [("a flipped page", flip), ("cut", cut), ("beheaded", zero_header)];

/// Inverts the first page of the branches, so that messages stay readable.
fn flip(path: &Path) {
    let (root, size) = root(path, "branch");
    invert_page(path, root, size);
}

fn cut(path: &Path) {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

fn zero_header(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[..100].fill(0);
    std::fs::write(path, bytes).unwrap();
}

/// Inverts the second leaf page of a table that has several.
pub(crate) fn flip_leaf(path: &Path, table: &str) {
    let (root, size) = root(path, table);
    let bytes = std::fs::read(path).unwrap();
    let start = (root - 1) * size;
    assert_eq!(bytes[start], 5, "{table} has several leaves");
    let cell = start + usize::from(u16::from_be_bytes([bytes[start + 14], bytes[start + 15]]));
    let leaf = u32::from_be_bytes(bytes[cell..cell + 4].try_into().unwrap());
    invert_page(path, usize::try_from(leaf).unwrap(), size);
}

/// A table's root page and the page size, after merging the log into the file.
fn root(path: &Path, table: &str) -> (usize, usize) {
    let store = Connection::open(path).unwrap();
    store.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let number = |sql: &str| usize::try_from(store.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()).unwrap();
    (number(&format!("SELECT rootpage FROM sqlite_schema WHERE name = '{table}'")), number("PRAGMA page_size"))
}

fn invert_page(path: &Path, page: usize, size: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * size..page * size].iter_mut().for_each(|byte| *byte = !*byte);
    std::fs::write(path, bytes).unwrap();
}
