//! The registry against candle's public API, read from its sources: every uncovered name is listed with its reason.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use snuffer::ops;
use syn::{ImplItem, Item, Type, Visibility};

/// The `src` folder of a dependency.
fn sources(package: &str) -> PathBuf {
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

fn files(folder: &Path) -> Vec<(PathBuf, syn::File)> {
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

#[test]
fn every_public_function_of_candle_is_covered_or_listed_with_a_reason() {
    let public: BTreeSet<String> = tensor_methods().into_iter().chain(layers()).collect();
    assert!(public.len() > 200, "only {} names read from candle's sources", public.len());
    let listed: BTreeMap<String, String> = toml::from_str(include_str!("uncovered.toml")).expect("name = reason");
    let covered: BTreeSet<String> = ops::ALL.iter().flat_map(|op| op.covers).map(|name| short(name)).collect();

    let missing: Vec<&String> =
        public.iter().filter(|name| !covered.contains(*name) && !listed.contains_key(*name)).collect();
    assert!(missing.is_empty(), "neither covered by an op nor listed in uncovered.toml: {missing:#?}");
    let both: Vec<&String> = listed.keys().filter(|name| covered.contains(*name)).collect();
    assert!(both.is_empty(), "listed as uncovered and covered: {both:?}");
    let gone: Vec<&String> = listed.keys().filter(|name| !public.contains(*name)).collect();
    assert!(gone.is_empty(), "listed as uncovered, and candle has no such name: {gone:?}");
    let others = other_types();
    let unknown: Vec<&String> =
        covered.iter().filter(|name| !public.contains(*name) && !others.contains(*name)).collect();
    assert!(unknown.is_empty(), "covered, and candle has no such name: {unknown:?}");
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
