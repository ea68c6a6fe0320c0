//! Tests of the index: updates, the cache, which files are read, and damaged records.

use super::CodeError;
use super::find::cards::{Limits, fill};
use super::find::{query, rank};
use super::index::build::renew;
use super::index::cache::Cache;
use super::index::codec::{ByteReader, ByteWriter};
use super::index::records::Index;
use super::parse::walk::Bounds;
use super::parse::words::Analyzer;
use super::parse_tests::{hostile, record};
use super::tests::{Disk, ask, count, names, update, workspace};
use super::tuning::Tuning;
use crate::domain::base::cases::cases;
use crate::domain::code::ParseOutcome;
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;

#[test]
fn updated_index_equals_a_new_one() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    assert_eq!(update(&mut index, folder.path(), None), 0, "nothing changed");
    let path = |name: &str| folder.path().join(name);
    for round in 0..4 {
        let text = format!("fn backoff(n: u32) -> u32 {{ n }}\nfn quite_new_{round}() {{ backoff(1); }}\n");
        std::fs::write(path("src/net/retry.rs"), text).unwrap();
        std::fs::write(path(&format!("src/extra_{round}.go")), "package p\nfunc Backoff() {}\n").unwrap();
        if round > 0 {
            std::fs::remove_file(path(&format!("src/extra_{}.go", round - 1))).unwrap();
        }
        update(&mut index, folder.path(), None);
        let mut anew = Index::default();
        update(&mut anew, folder.path(), None);
        for question in ["backoff of a request", "quite new client", "validate options", "extra"] {
            let (a, b) = (ask(&index, folder.path(), question, 500), ask(&anew, folder.path(), question, 500));
            assert_eq!(a.items, b.items, "{question}");
        }
        assert_eq!(index.len(), anew.len());
    }
}

#[test]
fn touched_files_are_not_parsed_again() {
    let folder = workspace();
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    let path = folder.path().join("app/models.py");
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(77)).unwrap();
    assert_eq!(update(&mut index, folder.path(), None), 0);
}

/// Opens a cache file. Also returns the number of its records, and whether it was damaged or another one.
fn opened(file: &Path, root: &Path, index: &mut Index) -> (Cache, (usize, bool)) {
    let (cache, is_damaged) = Cache::open(file, root, index).unwrap();
    (cache, (index.files().count(), is_damaged))
}

#[test]
fn records_survive_restarts() {
    let folder = workspace();
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("x.index");
    let question = "retry request with options";
    let open = |index: &mut Index| opened(&file, folder.path(), index);
    let mut first = Index::default();
    let (mut cache, loaded) = open(&mut first);
    assert_eq!(loaded, (0, false));
    update(&mut first, folder.path(), Some(&mut cache));
    let wanted = names(&ask(&first, folder.path(), question, 400));
    let (other, loaded) = open(&mut Index::default());
    assert!(cache.writes() && !other.writes(), "one process writes");
    assert_eq!(loaded.0, 5);
    drop((cache, other));
    let mut second = Index::default();
    let (mut cache, _) = open(&mut second);
    assert_eq!(update(&mut second, folder.path(), Some(&mut cache)), 0);
    assert_eq!(names(&ask(&second, folder.path(), question, 400)), wanted);
    drop(cache);
    let whole = std::fs::read(&file).unwrap();
    for cut in [whole.len() - 1, whole.len() / 2, 70, 3, 0] {
        std::fs::write(&file, &whole[..cut]).unwrap();
        let mut third = Index::default();
        let (mut cache, _) = open(&mut third);
        update(&mut third, folder.path(), Some(&mut cache));
        assert_eq!(names(&ask(&third, folder.path(), question, 400)), wanted, "cut at {cut}");
    }
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 0x40;
    std::fs::write(&file, &flipped).unwrap();
    let mut fourth = Index::default();
    let (mut cache, loaded) = open(&mut fourth);
    assert!(loaded.0 < 5 && loaded.1);
    update(&mut fourth, folder.path(), Some(&mut cache));
    assert_eq!(names(&ask(&fourth, folder.path(), question, 400)), wanted);
    drop(cache);
    let mut old = whole.clone();
    let number = old.iter().position(|byte| *byte == b'\n').unwrap() - 1;
    old[number] -= 1;
    std::fs::write(&file, &old).unwrap();
    let mut fifth = Index::default();
    let (mut cache, loaded) = open(&mut fifth);
    assert_eq!(loaded, (0, true), "a cache of another version is not read");
    assert_eq!(update(&mut fifth, folder.path(), Some(&mut cache)), 5);
    drop(cache);
    assert_eq!(open(&mut Index::default()).1, (5, false));
    let elsewhere = tempfile::tempdir().unwrap();
    let (_, loaded) = opened(&file, elsewhere.path(), &mut Index::default());
    assert_eq!(loaded, (0, true), "the cache of another workspace is not used");
}

#[test]
fn cache_file_is_compacted() {
    let folder = workspace();
    let kept = tempfile::tempdir().unwrap();
    let file = kept.path().join("x.index");
    let mut index = Index::default();
    let (mut cache, _) = Cache::open(&file, folder.path(), &mut index).unwrap();
    update(&mut index, folder.path(), Some(&mut cache));
    let record = record("app/models.py", b"class Again: pass\n").unwrap();
    for _ in 0..2_000 {
        cache.keep(&record);
        cache.flush().unwrap();
    }
    drop(cache);
    assert!(std::fs::metadata(&file).unwrap().len() < 400_000);
    let (_, loaded) = opened(&file, folder.path(), &mut Index::default());
    assert_eq!(loaded, (5, false));
}

#[test]
fn unsupported_files_are_listed_and_not_parsed() {
    let folder = workspace();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("big.rs", &vec![b'\n'; (1 << 20) + 1]);
    put("binary.c", b"int x;\0\x01");
    put("made.js", b"// Code generated by a tool. DO NOT EDIT.\nfunction f() {}\n");
    put("latin.py", b"# caf\xe9\ndef caf\xe9_latin():\n    pass\n");
    put("notes.txt", b"words");
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        put_odd(folder.path(), std::ffi::OsStr::from_bytes(b"odd\xff.rs"));
        std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
        std::os::unix::fs::symlink("big.rs", folder.path().join("linked.rs")).unwrap();
    }
    let mut index = Index::default();
    update(&mut index, folder.path(), None);
    let outcome = |name: &str| index.file_at(Path::new(name)).map(|file| file.outcome);
    assert_eq!(outcome("big.rs"), Some(ParseOutcome::TooLarge));
    assert_eq!(outcome("binary.c"), Some(ParseOutcome::Binary));
    assert_eq!(outcome("made.js"), Some(ParseOutcome::Generated));
    assert_eq!(outcome("latin.py"), Some(ParseOutcome::Parsed));
    assert_eq!(outcome("notes.txt"), Some(ParseOutcome::NoLanguage));
    assert_eq!(outcome("linked.rs"), None);
    #[cfg(unix)]
    {
        let odd = index.defined("in_an_odd_file");
        assert_eq!(odd.len(), 1);
        assert_eq!(&*index.symbol(odd[0]).unwrap().1.shown, "odd\u{fffd}.rs");
        let found = ask(&index, folder.path(), "in_an_odd_file", 300);
        assert_eq!(found.items[0].symbol, "in_an_odd_file");
    }
}

#[cfg(unix)]
fn put_odd(folder: &Path, name: &std::ffi::OsStr) {
    std::fs::write(folder.join(name), "fn in_an_odd_file() {}\n").unwrap();
}

/// A compaction that fails, here because another file has taken the place, leaves the cache as it was.
#[test]
fn failed_compaction_loses_nothing() {
    let folder = workspace();
    let kept = tempfile::tempdir().unwrap();
    let (file, aside) = (kept.path().join("x.index"), kept.path().join("aside"));
    let mut index = Index::default();
    let (mut cache, _) = Cache::open(&file, folder.path(), &mut index).unwrap();
    update(&mut index, folder.path(), Some(&mut cache));
    let record = record("app/models.py", b"class Again: pass\n").unwrap();
    (0..600).for_each(|_| cache.keep(&record));
    std::fs::rename(&file, &aside).unwrap();
    std::fs::write(&file, "").unwrap();
    assert!(cache.flush().is_err());
    std::fs::rename(&aside, &file).unwrap();
    cache.flush().unwrap();
    drop(cache);
    let (_, loaded) = opened(&file, folder.path(), &mut Index::default());
    assert_eq!(loaded, (5, false));
}

#[test]
fn reading_can_be_stopped_and_resumed() {
    let folder = workspace();
    let mut index = Index::default();
    let stop = AtomicBool::new(true);
    let ended = renew(&mut index, folder.path(), &Bounds::default(), &stop, &mut |_| (), &mut |_| ());
    assert!(matches!(ended, Err(CodeError::Cancelled)));
    assert_eq!(update(&mut index, folder.path(), None), 5);
    let none = renew(
        &mut index,
        Path::new("/nowhere/at/all"),
        &Bounds::default(),
        &AtomicBool::new(false),
        &mut |_| (),
        &mut |_| (),
    );
    assert!(matches!(none, Err(CodeError::Folder { .. })));
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn damaged_bytes_give_a_valid_record_or_none(text in hostile(), at in any::<prop::sample::Index>(), to in any::<u8>()) {
        let mut writer = ByteWriter::default();
        writer.record(&record("a.rs", &text).unwrap());
        let mut bytes = writer.0;
        prop_assert!(ByteReader(&bytes[..at.index(bytes.len())]).record().is_none());
        let place = at.index(bytes.len());
        bytes[place] = to;
        if let Some(record) = ByteReader(&bytes).record() {
            let mut index = Index::default();
            index.insert(&record);
            index.refresh();
            let query = query::read(&mut Analyzer::default(), "f g class", &Tuning::default());
            let hits = rank::rank(&index, &query, &Tuning::default(), 50);
            let _ = fill(&index, &hits, &Disk("/nowhere".into()), &count, Limits::within(500));
        }
    }
}
