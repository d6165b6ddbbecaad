//! The registry against candle's public API, read from its sources: every uncovered name is listed with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use snuffer::ops;
use syn::{ImplItem, Item, Type, Visibility};

/// The `src` folder of a dependency.
pub fn sources(package: &str) -> PathBuf {
    // Only this platform: dependencies of others may not be downloaded.
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform]);
    let output = cargo.output().expect("cargo metadata runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let found = metadata["packages"].as_array().expect("packages").iter().find(|found| found["name"] == package);
    let manifest = found.expect("a dependency")["manifest_path"].as_str().expect("a path");
    Path::new(manifest).with_file_name("src")
}

/// The Rust files below a folder, each with its path.
pub fn files(folder: &Path) -> Vec<(PathBuf, syn::File)> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.expect("readable").into_path());
    let rust = files.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let parse = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("readable");
        (path, syn::parse_file(&text).expect("candle is Rust"))
    };
    rust.map(parse).collect()
}

/// A name such as `Tensor::exp` for every public method of candle-core's tensors, including those that macros define.
fn tensor_methods() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (_, file) in files(&sources("candle-core")) {
        for item in file.items {
            let Item::Impl(block) = item else { continue };
            let of_tensor = matches!(&*block.self_ty, Type::Path(path) if path.path.is_ident("Tensor"));
            if block.trait_.is_some() || !of_tensor {
                continue;
            }
            for item in block.items {
                match item {
                    ImplItem::Fn(method) if matches!(method.vis, Visibility::Public(_)) => {
                        names.insert(format!("Tensor::{}", method.sig.ident));
                    }
                    // unary_op!(exp, Exp) and its like: the first word is the method.
                    ImplItem::Macro(call) => {
                        let name = call.mac.tokens.into_iter().next().expect("a macro call with words");
                        names.insert(format!("Tensor::{name}"));
                    }
                    _ => {}
                }
            }
        }
    }
    names
}

/// A name such as `ops::softmax` for every public function of candle-nn, and the name of every public type.
fn layers() -> BTreeSet<String> {
    let root = sources("candle-nn");
    let mut names = BTreeSet::new();
    for (path, file) in files(&root) {
        let inside = path.strip_prefix(&root).expect("in src").with_extension("");
        let module = inside.iter().next().expect("a name").to_string_lossy().into_owned();
        for item in file.items {
            match item {
                Item::Fn(function) if matches!(function.vis, Visibility::Public(_)) => {
                    names.insert(format!("{module}::{}", function.sig.ident));
                }
                Item::Struct(kind) if matches!(kind.vis, Visibility::Public(_)) => {
                    names.insert(kind.ident.to_string());
                }
                Item::Enum(kind) if matches!(kind.vis, Visibility::Public(_)) => {
                    names.insert(kind.ident.to_string());
                }
                _ => {}
            }
        }
    }
    names
}

/// A name such as `Linear::weight` for every public method of candle-nn's types.
fn methods() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in files(&sources("candle-nn")).into_iter().flat_map(|(_, file)| file.items) {
        let Item::Impl(block) = item else { continue };
        let (Type::Path(path), None) = (&*block.self_ty, &block.trait_) else { continue };
        let of = &path.path.segments.last().expect("a name").ident;
        for item in block.items {
            if let ImplItem::Fn(method) = item
                && matches!(method.vis, Visibility::Public(_))
            {
                names.insert(format!("{of}::{}", method.sig.ident));
            }
        }
    }
    names
}

/// Other names that an op may cover: traits, aliases, and the types of candle-core.
fn other_types() -> BTreeSet<String> {
    let files = ["candle-core", "candle-nn"].into_iter().flat_map(|package| files(&sources(package)));
    let name = |item| match item {
        Item::Trait(kind) => Some(kind.ident.to_string()),
        Item::Type(kind) => Some(kind.ident.to_string()),
        Item::Struct(kind) => Some(kind.ident.to_string()),
        Item::Enum(kind) => Some(kind.ident.to_string()),
        _ => None,
    };
    files.flat_map(|(_, file)| file.items).filter_map(name).collect()
}

/// A name in the inventory's form: a type without its module and methods, a function with its outermost module.
fn short(name: &str) -> String {
    let parts: Vec<&str> = name.split("::").collect();
    let is_type = |part: &str| part.starts_with(char::is_uppercase);
    match (parts[0], parts[parts.len() - 1]) {
        (_, last) if is_type(last) => last.to_string(),
        (first, _) if is_type(first) && first != "Tensor" => first.to_string(),
        (first, last) => format!("{first}::{last}"),
    }
}

/// The names that no op covers.
#[derive(serde::Deserialize)]
struct Uncovered {
    /// Functions and types, each with its reason.
    functions: BTreeMap<String, String>,
    /// Reasons, each with methods.
    methods: BTreeMap<String, Vec<String>>,
}

fn uncovered() -> Uncovered {
    toml::from_str(include_str!("uncovered.toml")).expect("names and reasons")
}

fn covers() -> impl Iterator<Item = &'static str> {
    ops::ALL.iter().flat_map(|op| op.covers).copied()
}

/// Each of the `public` names is covered or listed, not both, and no other name is listed.
fn assert_covered_or_listed(public: &BTreeSet<String>, covered: &BTreeSet<String>, listed: &BTreeSet<String>) {
    let missing: Vec<&String> =
        public.iter().filter(|name| !covered.contains(*name) && !listed.contains(*name)).collect();
    assert!(missing.is_empty(), "neither covered by an op nor listed in uncovered.toml: {missing:#?}");
    let both: Vec<&String> = listed.intersection(covered).collect();
    assert!(both.is_empty(), "listed as uncovered and covered: {both:?}");
    let gone: Vec<&String> = listed.difference(public).collect();
    assert!(gone.is_empty(), "listed as uncovered, and candle has no such name: {gone:?}");
}

#[test]
fn every_public_function_of_candle_is_covered_or_listed_with_a_reason() {
    let public: BTreeSet<String> = tensor_methods().into_iter().chain(layers()).collect();
    assert!(public.len() > 200, "only {} names read from candle's sources", public.len());
    let covered: BTreeSet<String> = covers().map(short).collect();
    let listed: BTreeSet<String> = uncovered().functions.into_keys().collect();
    assert_covered_or_listed(&public, &covered, &listed);
    assert!(listed.len() <= 30, "{} functions are not covered: is there an op for some of them?", listed.len());
    let others = other_types();
    let unknown: Vec<&String> =
        covered.iter().filter(|name| !public.contains(*name) && !others.contains(*name)).collect();
    assert!(unknown.is_empty(), "covered, and candle has no such name: {unknown:?}");
}

#[test]
fn every_public_method_of_candles_layers_is_covered_or_listed_with_a_reason() {
    let public = methods();
    assert!(public.len() > 150, "only {} methods read from candle's sources", public.len());
    let covered: BTreeSet<String> = covers().map(str::to_string).collect();
    let methods: Vec<String> = uncovered().methods.into_values().flatten().collect();
    let listed: BTreeSet<String> = methods.iter().cloned().collect();
    assert_eq!(listed.len(), methods.len(), "a method is listed twice");
    assert_covered_or_listed(&public, &covered, &listed);
    let types: BTreeSet<&str> = public.iter().filter_map(|name| Some(name.split_once("::")?.0)).collect();
    let unknown: Vec<&String> = covered
        .iter()
        .filter(|name| name.split_once("::").is_some_and(|(of, _)| types.contains(of)) && !public.contains(*name))
        .collect();
    assert!(unknown.is_empty(), "covered, and candle has no such method: {unknown:?}");
}

#[test]
fn the_release_under_test_is_the_one_that_cargo_builds() {
    let manifest = include_str!("../../Cargo.toml");
    for package in ["candle-core", "candle-nn"] {
        assert!(manifest.contains(&format!("{package} = \"={}\"", snuffer::CANDLE)), "{package}");
    }
}

/// The packages that a build with these options compiles, with their features.
fn built(options: &[&str]) -> BTreeSet<String> {
    let mut tree = Command::new(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "--edges", "normal", "--prefix", "none", "--format", "{p} {f}"]);
    let output = tree.args(["--no-dedupe"]).args(options).output().expect("cargo tree runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect()
}

#[test]
fn workers_share_all_dependencies_with_the_command_line() {
    let ours = built(&[]);
    for (worker, own) in [
        ("unchecked", &["snuffer"][..]),
        ("worker,cuda", &["candle-core", "candle-kernels", "candle-nn", "cudarc", "libloading", "snuffer"][..]),
    ] {
        let features = format!("{worker},cli-dependencies");
        let built = built(&["--no-default-features", "--features", &features]);
        assert!(built.len() > 150, "{built:?}");
        let more: BTreeSet<_> = built.difference(&ours).filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(more, own.iter().copied().collect(), "{worker}: Cargo would build these once more");
    }
}
