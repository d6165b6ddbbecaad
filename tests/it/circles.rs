//! No two files of a crate need each other, directly or through others: each can be read after those that it imports.
//!
//! A parent module names its children and lends them its types, so what a file imports from a module above its own does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Item, UseTree, Visibility};

/// A module by the names on the way to it; the root of the crate has none.
type Module = Vec<String>;

/// What a file imports and passes on.
#[derive(Default)]
struct File {
    /// The paths that it names, from the root of its crate on.
    imports: BTreeSet<Vec<String>>,
    /// What it passes on from other modules: the name, and the path.
    exports: BTreeMap<String, Vec<String>>,
}

#[test]
fn no_files_import_each_other() {
    let roots = ["src", "simulator/src", "simulator/driver/src", "cargo-snuffer/src", "toolkit/src", "xtask/src"];
    let mut edges = 0;
    for folder in roots {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = read(&root);
        let needs: BTreeMap<&Module, BTreeSet<Module>> =
            files.iter().map(|(module, file)| (module, needed(module, file, &files))).collect();
        edges += needs.values().map(BTreeSet::len).sum::<usize>();
        let left: Vec<String> = needs
            .iter()
            .filter_map(|(module, of)| {
                let back = of.iter().filter(|it| reached(it, &needs).contains(*module)).map(|it| it.join("::"));
                let back: Vec<String> = back.collect();
                (!back.is_empty()).then(|| format!("{} needs {}", module.join("::"), back.join(", ")))
            })
            .collect();
        assert!(left.is_empty(), "files of {folder} import each other:\n{}", left.join("\n"));
    }
    assert!(edges > 1500, "only {edges} imports seen");
}

/// All that a module needs, directly or through others.
fn reached<'a>(from: &'a Module, needs: &'a BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<&'a Module> {
    let (mut found, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        if found.insert(module) {
            open.extend(needs.get(module).into_iter().flatten());
        }
    }
    found
}

/// Every file of a crate whose root is in this folder.
fn read(root: &Path) -> BTreeMap<Module, File> {
    let entries = walkdir::WalkDir::new(root).into_iter().map(|entry| entry.expect("readable").into_path());
    let sources: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|it| it == "rs")).collect();
    let modules: BTreeSet<Module> = sources.iter().map(|path| module(root, path)).collect();
    let file = |path: &PathBuf| {
        let own = module(root, path);
        let text = std::fs::read_to_string(path).expect("readable");
        let mut file = File::default();
        for item in syn::parse_file(&text).expect("a file of Rust").items {
            if let Item::Use(item) = item {
                let mut leaves = Vec::new();
                flatten(&item.tree, &mut Vec::new(), &mut leaves);
                for (path, name) in leaves {
                    let Some(path) = absolute(&own, &path, &modules) else { continue };
                    if !matches!(item.vis, Visibility::Inherited) {
                        file.exports.insert(name, path.clone());
                    }
                    file.imports.insert(path);
                }
            }
        }
        file.imports.extend(inline(&text).into_iter().filter_map(|path| absolute(&own, &path, &modules)));
        (own, file)
    };
    sources.iter().map(file).collect()
}

/// The module of a file.
fn module(root: &Path, path: &Path) -> Module {
    let inside = path.strip_prefix(root).expect("in the folder").with_extension("");
    let names = inside.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| !["lib", "main"].contains(&name.as_str())).collect()
}

/// The paths of a tree of imports, each with the name by which it is known here.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<(Vec<String>, String)>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            let path =
                if name == "self" { prefix.clone() } else { [prefix.as_slice(), std::slice::from_ref(&name)].concat() };
            let known = path.last().cloned().unwrap_or_default();
            leaves.push((path, known));
        }
        UseTree::Rename(rename) => {
            leaves.push(([prefix.as_slice(), &[rename.ident.to_string()]].concat(), rename.rename.to_string()));
        }
        UseTree::Glob(_) => leaves.push((prefix.clone(), "*".to_string())),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, leaves)),
    }
}

/// The paths that begin at the root or at the parent, wherever they stand in the code.
fn inline(text: &str) -> Vec<Vec<String>> {
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    let begins = ["crate::", "super::"].into_iter().flat_map(|begin| code.match_indices(begin).map(|(at, _)| at));
    let starts = begins.filter(|&at| !code[..at].ends_with(is_part));
    let path = |at: usize| code[at..].chars().take_while(|c| is_part(*c)).collect::<String>();
    let parts = |path: String| path.split("::").filter(|part| !part.is_empty()).map(ToString::to_string).collect();
    // What ends in colons is a tree of imports.
    starts.map(path).filter(|path| !path.ends_with("::")).map(parts).collect()
}

/// A path from the root of the crate on; `None` if it leads into another crate.
fn absolute(own: &Module, path: &[String], modules: &BTreeSet<Module>) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([own.as_slice(), rest].concat()),
        "super" => absolute(&own[..own.len().checked_sub(1)?].to_vec(), rest, modules)
            .or_else(|| Some([&own[..own.len() - 1], rest].concat())),
        child => {
            let below = [own.as_slice(), &[child.to_string()]].concat();
            modules.contains(&below).then(|| [own.as_slice(), path].concat())
        }
    }
}

/// The modules that a file needs: those that define what it imports, apart from the ones above it.
fn needed(own: &Module, file: &File, files: &BTreeMap<Module, File>) -> BTreeSet<Module> {
    let defining = file.imports.iter().map(|path| defining(path, files));
    defining.filter(|it| !own.starts_with(it)).collect()
}

/// The module that defines what a path leads to.
fn defining(path: &[String], files: &BTreeMap<Module, File>) -> Module {
    let mut module = Module::new();
    for (place, name) in path.iter().enumerate() {
        let below = [module.as_slice(), std::slice::from_ref(name)].concat();
        if files.contains_key(&below) {
            module = below;
        } else if let Some(origin) = files.get(&module).and_then(|file| file.exports.get(name)) {
            return if origin.starts_with(&path[..=place]) {
                module
            } else {
                defining(&[origin.as_slice(), &path[place + 1..]].concat(), files)
            };
        } else {
            return module;
        }
    }
    module
}
