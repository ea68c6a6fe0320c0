//! Resolves paths and names of files that a message or a focus gives.
//! Not for: names of symbols (`names`), or changing the order of hits for them (`choose`).

use super::query::Query;
use crate::code::index::records::{File, Index};
use crate::code::parse::language::of_path;
use std::path::Path;

/// Returns whether a path is one of these files, or lies in one of these folders.
pub(super) fn hold(places: &[String], path: &str) -> bool {
    places.iter().any(|place| path == place || path.strip_prefix(place.as_str()).is_some_and(in_folder))
}

fn in_folder(rest: &str) -> bool {
    rest.starts_with('/')
}

/// Returns the file or folder that a path or the end of a path refers to; the first if there are several.
pub(crate) fn place(index: &Index, wanted: &str) -> Option<String> {
    if wanted.is_empty() {
        return None;
    }
    let is_folder = |shown: &str| shown.strip_prefix(wanted).is_some_and(in_folder);
    if index.file_at(Path::new(wanted)).is_some() || index.files().any(|file| is_folder(&file.shown)) {
        return Some(wanted.to_owned());
    }
    let end = format!("/{wanted}");
    let inside = format!("/{wanted}/");
    index.files().find_map(|file| match file.shown.find(&inside) {
        Some(at) => Some(file.shown[..at + end.len()].to_owned()),
        None => file.shown.ends_with(&end).then(|| file.shown.to_string()),
    })
}

/// Returns the files and folders that a message names: by path, or as in [`named_only_by_name`].
pub(crate) fn named(index: &Index, query: &Query) -> Vec<String> {
    let by_path = query.paths.iter().filter_map(|path| place(index, path));
    by_path.chain(named_only_by_name(index, query)).collect()
}

/// Returns the files that a message names without their folder: the only file of the workspace with the name at the end
/// of a path that does not exist, and documents without their extension, such as `README`.
pub(crate) fn named_only_by_name(index: &Index, query: &Query) -> Vec<String> {
    let paths = query.paths.iter().filter(|path| place(index, path).is_none());
    let of_documents = index.files().filter(|file| is_document(file, query)).map(|file| file.shown.to_string());
    paths.filter_map(|path| only_file_of_name(index, path)).chain(of_documents).collect()
}

/// Returns the paths of a message that are written as files, although the workspace has no file of that path or name.
pub(crate) fn missing(index: &Index, query: &Query) -> Vec<String> {
    let is_missing = |path: &&String| {
        of_path(Path::new(path)).is_some() && place(index, path).is_none() && only_file_of_name(index, path).is_none()
    };
    query.paths.iter().filter(is_missing).cloned().collect()
}

/// Returns the file whose name is that of a path, if it is the only one.
fn only_file_of_name(index: &Index, path: &str) -> Option<String> {
    let name = Path::new(path).file_name().filter(|_| of_path(Path::new(path)).is_some());
    let mut all = index.files().filter(|file| name.is_some() && file.path.file_name() == name);
    all.next().filter(|_| all.next().is_none()).map(|file| file.shown.to_string())
}

/// Returns whether a file is a document whose name without its extension is written in capitals, and a message names it.
fn is_document(file: &File, query: &Query) -> bool {
    let stem = file.path.file_stem().and_then(|stem| stem.to_str()).filter(|_| file.is_text());
    stem.is_some_and(|stem| query.documents.contains(stem))
}
