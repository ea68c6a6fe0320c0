//! Tests of uses: which definitions the source shows, and which are guesses by name.

use super::index::records::{Index, SymbolId};
use crate::domain::base::cases::cases;
use crate::domain::code::Kind;
use proptest::prelude::*;
use std::fmt::Write as _;

fn indexed(files: &[(&str, &str)]) -> Index {
    super::tests::indexed(files).1
}

/// Returns what a symbol uses, as `Type.name` or `file.name`, with `?` behind a guess. Types and constants are left out.
fn uses(index: &Index, user: &str) -> Vec<String> {
    let owner = |id: SymbolId| {
        let (_, file) = index.symbol(id).unwrap();
        let parent = index.parent(id).and_then(|parent| index.symbol(parent)).map(|(parent, _)| parent);
        let stem = file.shown.rsplit('/').next().unwrap().split('.').next().unwrap();
        parent.filter(|parent| parent.kind != Kind::File).map_or(stem.to_owned(), |parent| parent.name.to_string())
    };
    let id = index.defined(user)[0];
    let called = |used: &SymbolId| index.symbol(*used).unwrap().0.kind.is_callable();
    let shown = |used: SymbolId| {
        let guess = if index.graph().is_guess(id, used) { "?" } else { "" };
        format!("{}.{}{guess}", owner(used), index.symbol(used).unwrap().0.name)
    };
    let mut all: Vec<String> = index.graph().uses(id).iter().copied().filter(called).map(shown).collect();
    all.sort();
    all
}

const RUST: &[(&str, &str)] = &[
    (
        "src/disk.rs",
        "pub struct Disk { file: Handle, plain: u8 }\nimpl Disk {\n    pub fn new() -> Self { Disk::mount() }\n    \
         pub fn mount() -> Self { todo!() }\n    pub fn store(&self) { self.check() }\n    fn check(&self) {}\n    \
         pub fn through(&self) { self.file.store(); self.plain.check() }\n}\npub fn sweep() {}\n",
    ),
    (
        "src/cloud.rs",
        "pub struct Cloud;\nimpl Cloud {\n    pub fn new() -> Self { Self::mount() }\n    pub fn mount() -> Self { Cloud }\n    \
         pub fn store(&self) { self.check() }\n    fn check(&self) {}\n    pub fn push(&self) {}\n}\npub fn sweep() {}\n",
    ),
    (
        "src/handle.rs",
        "pub struct Handle;\nimpl Handle { pub fn store(&self) {} }\npub trait Keep { fn keep_it(&self) {} }\n",
    ),
];

/// Each case: a function of another file and what it uses.
#[test]
fn uses_in_rust() {
    for (text, wanted) in [
        ("fn user() { Disk::store(x) }", &["Disk.store"][..]),
        ("fn user() { crate::cloud::Cloud::store(x) }", &["Cloud.store"]),
        ("fn user(a: &Disk, b: &mut Cloud) { a.store(); b.check(); }", &["Cloud.check", "Disk.store"]),
        ("fn user(a: Arc<Disk>, b: Box<dyn Keep>) { a.store(); b.keep_it(); }", &["Disk.store", "Keep.keep_it"]),
        ("fn user() { let a: Cloud = make(); a.store() }", &["Cloud.store"]),
        ("fn user() { let a = Cloud::new(); a.store() }", &["Cloud.new", "Cloud.store"]),
        ("fn user() { let a = Arc::new(Cloud { }); (&a).store() }", &["Cloud.store"]),
        (
            "fn user() { let a = Cloud::mount(); a.store() }",
            &["Cloud.mount", "Cloud.store?", "Disk.store?", "Handle.store?"],
        ),
        ("fn user(a: &Disk) { let a = other(); a.store() }", &["Cloud.store?", "Disk.store?", "Handle.store?"]),
        ("fn user(a: &Disk) { { let a = Cloud::new(); } a.store() }", &["Cloud.new", "Disk.store"]),
        ("fn user(a: &Disk) { let a: Cloud = a.store(); }", &["Disk.store"]),
        ("fn user(a: &Disk) { if let Some(a) = f() { a.check() } }", &["Cloud.check?", "Disk.check?"]),
        ("fn user(a: &Disk) { g(|a| a.check()) }", &["Cloud.check?", "Disk.check?"]),
        ("fn user(a: &Disk) { for a in f() { a.check() } a.check() }", &["Cloud.check?", "Disk.check"]),
        ("fn user(a: &Disk) { match f() { a => a.check() } }", &["Cloud.check?", "Disk.check?"]),
        ("fn user<Disk: Keep>(a: Disk) { a.check() }", &["Cloud.check?", "Disk.check?"]),
        ("fn user() { sweep() }", &["cloud.sweep?", "disk.sweep?"]),
        ("use crate::cloud::sweep;\nfn user() { sweep() }", &["cloud.sweep"]),
        (
            "use crate::{cloud::{self, sweep as clean}, disk};\nfn user() { clean(); disk::sweep() }",
            &["cloud.sweep", "disk.sweep"],
        ),
        ("use crate::cloud as sky;\nfn user() { sky::sweep() }", &["cloud.sweep"]),
        ("use crate::cloud::Cloud as Sky;\nfn user() { Sky::store(x) }", &["Cloud.store"]),
        ("use std::vec;\nfn user(a: Vec<u8>) { a.push(1); a.store(); vec::sweep() }", &[]),
        ("fn user(a: u8) { a.field.push(1) }", &[]),
        ("fn user(a: &Disk) { let sweep = 1; f(sweep); a.check; Disk { store: 1 }; }", &[]),
        ("fn user() { x.sweep(); check() }", &[]),
        ("fn user(a: &Disk) { assert!(a.check()) }", &["Cloud.check?", "Disk.check?"]),
        ("struct Own;\nimpl Keep for Own {}\nfn user(a: &Own) { a.keep_it() }", &["Keep.keep_it?"]),
    ] {
        let index = indexed(&[RUST, &[("src/user.rs", text)]].concat());
        assert_eq!(uses(&index, "user"), wanted, "{text}");
    }
    let index = indexed(RUST);
    assert_eq!(uses(&index, "through"), ["Handle.store"]);
    let store = |path: &str| {
        let is_there = |id: &&SymbolId| index.symbol(**id).is_some_and(|(_, file)| *file.shown == *path);
        *index.defined("store").iter().find(is_there).unwrap()
    };
    let used = |id: SymbolId| index.graph().uses(id).iter().map(|used| index.qualified(*used)).collect::<Vec<_>>();
    assert_eq!(used(store("src/disk.rs")), ["disk::Disk::check"]);
    assert_eq!(used(store("src/cloud.rs")), ["cloud::Cloud::check"]);
}

#[test]
fn uses_in_python() {
    let files: &[(&str, &str)] = &[
        (
            "app/disk.py",
            "class Disk:\n    def store(self):\n        self.check()\n    def check(self): pass\n\ndef sweep(): pass\n",
        ),
        (
            "app/cloud.py",
            "class Cloud:\n    def __init__(self, disk: Disk):\n        self.inner = Disk()\n    def store(self):\n        self.inner.check()\n\
             \x20   def check(self): pass\n\ndef sweep(): pass\n",
        ),
    ];
    for (text, wanted) in [
        ("def user(a: Disk):\n    a.store()\n", &["Disk.store"][..]),
        ("def user():\n    a = Cloud()\n    a.store()\n", &["Cloud.store"]),
        (
            "def user(b):\n    a = Cloud()\n    if b:\n        a = Disk()\n    a.check()\n",
            &["Cloud.check?", "Disk.check?"],
        ),
        ("def user(a):\n    a.store()\n", &["Cloud.store?", "Disk.store?"]),
        ("from app.cloud import sweep\ndef user():\n    sweep()\n", &["cloud.sweep"]),
        ("from .disk import sweep as clean\ndef user():\n    clean()\n", &["disk.sweep"]),
        ("from app import disk\ndef user():\n    disk.sweep()\n", &["disk.sweep"]),
        ("import cloud as c\ndef user():\n    c.sweep()\n", &["cloud.sweep"]),
        ("class Own(Disk):\n    def user(self):\n        self.store()\n", &["Cloud.store?", "Disk.store?"]),
        ("def user(sweep):\n    print(sweep)\n", &[]),
    ] {
        let index = indexed(&[files, &[("app/user.py", text)]].concat());
        assert_eq!(uses(&index, "user"), wanted, "{text}");
    }
    let index = indexed(files);
    let users =
        index.graph().users(index.defined("check")[0]).len() + index.graph().users(index.defined("check")[1]).len();
    assert_eq!(users, 2, "each store uses the check of the disk");
}

#[test]
fn uses_in_typescript() {
    let files: &[(&str, &str)] = &[
        (
            "web/disk.ts",
            "export class Disk {\n  store() { this.check(); }\n  check() {}\n}\nexport function sweep() {}\n",
        ),
        (
            "web/cloud.ts",
            "export class Cloud {\n  private inner: Disk;\n  save() { this.inner.check(); }\n  store() {}\n  check() {}\n}\n\
             export function sweep() {}\n",
        ),
    ];
    for (text, wanted) in [
        ("function user(a: Disk) { a.store(); }\n", &["Disk.store"][..]),
        ("function user() { const a = new Cloud(); a.store(); }\n", &["Cloud.store"]),
        ("function user() { const a: Cloud = f(); a.store(); }\n", &["Cloud.store"]),
        ("function user(a) { a.store(); }\n", &["Cloud.store?", "Disk.store?"]),
        ("import { sweep } from './cloud';\nfunction user() { sweep(); }\n", &["cloud.sweep"]),
        ("import { sweep as clean } from \"./disk.js\";\nfunction user() { clean(); }\n", &["disk.sweep"]),
        ("import * as disk from './disk';\nfunction user() { disk.sweep(); }\n", &["disk.sweep"]),
        ("function user(a: Disk) { f((a) => a.check()); }\n", &["Cloud.check?", "Disk.check?"]),
        ("function user(sweep: number) { return sweep + 1; }\n", &[]),
    ] {
        let index = indexed(&[files, &[("web/user.ts", text)]].concat());
        assert_eq!(uses(&index, "user"), wanted, "{text}");
    }
    let index = indexed(files);
    assert_eq!(uses(&index, "save"), ["Disk.check"]);
}

proptest! {
    #![proptest_config(cases(32))]

    /// A use that is not a guess never means a member of another type than the one of the receiver.
    #[test]
    fn resolved_uses_mean_the_receivers_type(
        types in 2_usize..5,
        steps in prop::collection::vec((0_usize..5, 0_usize..5, 0_usize..3, 0_usize..7), 1..12),
    ) {
        let mut files: Vec<(String, String)> = Vec::new();
        for at in 0..types {
            let mut text = format!("pub struct Kind{at};\nimpl Kind{at} {{\n    pub fn new() -> Self {{ Kind{at} }}\n");
            // Each type lacks one of the methods.
            for method in (0..4).filter(|method| method % types != at) {
                let _ = writeln!(text, "    pub fn method_{method}(&self) {{}}");
            }
            files.push((format!("src/kind{at}.rs"), format!("{text}}}\n")));
        }
        let mut body = String::new();
        let mut wanted: Vec<(usize, usize)> = Vec::new();
        let mut of = [None::<usize>; 3];
        for (kind, method, variable, shape) in steps {
            let (kind, method) = (kind % types, method % 4);
            match shape {
                0 => { let _ = writeln!(body, "let v{variable}{variable} = Kind{kind}::new();"); of[variable] = Some(kind); }
                1 => { let _ = writeln!(body, "let v{variable}{variable}: &Kind{kind} = make();"); of[variable] = Some(kind); }
                2 => { let _ = writeln!(body, "let v{variable}{variable} = make();"); of[variable] = None; }
                3 => { let _ = writeln!(body, "{{ let v{variable}{variable} = Kind{kind}::new(); }}"); }
                4 => { let _ = writeln!(body, "for v{variable}{variable} in all() {{ v{variable}{variable}.other(); }}"); }
                5 => { let _ = writeln!(body, "Kind{kind}::method_{method}(x);"); wanted.push((kind, method)); }
                _ => {
                    let _ = writeln!(body, "v{variable}{variable}.method_{method}();");
                    wanted.extend(of[variable].map(|kind| (kind, method)));
                }
            }
        }
        files.push(("src/user.rs".into(), format!("fn user() {{\n{body}}}\n")));
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let index = indexed(&files);
        let user = index.defined("user")[0];
        for used in index.graph().uses(user) {
            let name = index.symbol(*used).unwrap().0.name.to_string();
            let Some(method) = name.strip_prefix("method_") else { continue };
            let owner = index.symbol(index.parent(*used).unwrap()).unwrap().0.name.to_string();
            let owner: usize = owner.strip_prefix("Kind").unwrap().parse().unwrap();
            let is_meant = wanted.contains(&(owner, method.parse().unwrap()));
            prop_assert!(is_meant || index.graph().is_guess(user, *used), "{owner} {method}\n{body}");
        }
        for (kind, method) in wanted.into_iter().filter(|(kind, method)| method % types != *kind) {
            let is_used = index.graph().uses(user).iter().any(|used| {
                index.qualified(*used) == format!("kind{kind}::Kind{kind}::method_{method}")
                    && !index.graph().is_guess(user, *used)
            });
            prop_assert!(is_used, "{kind} {method}\n{body}");
        }
    }
}
