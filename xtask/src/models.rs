//! `cargo xtask models`: which of candle's functions each model of candle-transformers uses, by its source. Causes name the models
//! that they concern from this table (`src/causes/models.rs`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use syn::visit::{self, Visit};

use crate::shell::cargo;
use crate::sources::{self, rust_files};

/// Where the table is in the project.
const TABLE: &str = "corpora/causes/models.toml";

/// The workspace that depends on candle-transformers.
const WORKSPACE: &str = "cargo-snuffer/tests/models";

/// Modules beside the models that are none.
const NO_MODELS: [&str; 2] = ["mod", "with_tracing"];

/// Modules of candle-nn that load and make weights: each model has them, and they use a bit of everything.
const NO_LAYERS: [&str; 3] = ["var_builder", "var_map", "init"];

/// Methods that numbers have, too. Those of tensors return a `Result`.
const OF_NUMBERS: [&str; 18] = [
    "abs", "ceil", "clamp", "cos", "exp", "floor", "log", "max", "min", "neg", "pow", "powf", "recip", "round", "sin",
    "sqrt", "sum", "tanh",
];

/// Names: `.gather` of a method, `rope` of a function, `Linear` of a type.
type Names = BTreeSet<String>;

/// Writes the table, or with `check` says whether it is what it should be.
pub fn run(root: &Path, check: bool) -> anyhow::Result<u8> {
    sources::keep(root, TABLE, &table(root)?, check, "cargo xtask models")
}

fn table(root: &Path) -> anyhow::Result<String> {
    let workspace = root.join(WORKSPACE);
    let fetched = cargo().args(["fetch", "--locked"]).current_dir(&workspace).status()?;
    ensure!(fetched.success(), "`cargo fetch` failed in {}", workspace.display());
    let folders = sources::folders(&workspace, &["candle-core", "candle-nn", "candle-transformers"])?;
    let [core, nn, transformers] = [0, 1, 2].map(|at: usize| folders[at].join("src"));
    let layers = layers(&nn)?;
    let known = known(&core, &layers)?;
    let modules = modules(&transformers)?;
    let mut text = "# Made by `cargo xtask models`: what of candle-core and candle-nn each model of candle-transformers uses, by its source.\n\
                    # `.gather` is a method, `rope` a function, `Linear` a type, and `QTensor::new` makes one.\n"
        .to_string();
    for name in modules.keys().filter_map(|name| name.strip_prefix("models::")) {
        if NO_MODELS.contains(&name) {
            continue;
        }
        let used = closed(&reached(&modules, &format!("models::{name}")), &layers);
        let used: Vec<String> = used.intersection(&known).map(|name| format!("{name:?}")).collect();
        text += &format!("{name} = [{}]\n", used.join(", "));
    }
    Ok(text)
}

/// The names that a module of candle-transformers uses, and the modules that it names.
#[derive(Debug, Default)]
struct Module {
    uses: Names,
    modules: BTreeSet<String>,
}

/// The modules: `models::llama`, `quantized_nn`. A folder is one module.
fn modules(src: &Path) -> anyhow::Result<BTreeMap<String, Module>> {
    let mut modules: BTreeMap<String, Module> = BTreeMap::new();
    for file in rust_files(src)? {
        let inside = file.strip_prefix(src)?.with_extension("");
        let parts: Vec<String> = inside.iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let depth = if parts[0] == "models" { 2 } else { 1 };
        let name = parts[..depth.min(parts.len())].join("::");
        let used = Used::of(&file)?;
        let module = modules.entry(name).or_default();
        module.uses.extend(used.names.difference(&used.defined).cloned());
        // A type of its own with the name of a layer is no layer; a method says nothing about its receiver.
        module.modules.extend(used.paths.iter().filter_map(|path| module_of(path, depth)));
    }
    Ok(modules)
}

/// The module that a path of `crate` or `super` leads to.
fn module_of(path: &[String], depth: usize) -> Option<String> {
    let rest = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "super" if depth == 2 => [&["models".to_string()], &path[1..]].concat(),
        _ => return None,
    };
    let depth = if rest.first()? == "models" { 2 } else { 1 };
    Some(rest.get(..depth)?.join("::"))
}

/// All that a module and those that it names use.
fn reached(modules: &BTreeMap<String, Module>, name: &str) -> Names {
    let (mut seen, mut queue, mut names) = (BTreeSet::new(), vec![name.to_string()], Names::new());
    while let Some(name) = queue.pop() {
        let Some(module) = modules.get(&name).filter(|_| seen.insert(name.clone())) else { continue };
        names.extend(module.uses.iter().cloned());
        queue.extend(module.modules.iter().cloned());
    }
    names
}

/// `names` with all that the layers and functions of candle-nn among them use.
fn closed(names: &Names, layers: &BTreeMap<String, Names>) -> Names {
    let (mut all, mut queue) = (names.clone(), names.iter().cloned().collect::<Vec<_>>());
    while let Some(name) = queue.pop() {
        for used in layers.get(&name).into_iter().flatten() {
            if all.insert(used.clone()) {
                queue.push(used.clone());
            }
        }
    }
    all
}

/// The names that each public type and function of candle-nn uses.
fn layers(src: &Path) -> anyhow::Result<BTreeMap<String, Names>> {
    let mut layers: BTreeMap<String, Names> = BTreeMap::new();
    let mut inner: Vec<(String, Names)> = Vec::new();
    for file in rust_files(src)? {
        if NO_LAYERS.iter().any(|name| file.file_stem().is_some_and(|stem| stem == *name)) {
            continue;
        }
        for item in parsed(&file)?.items {
            match &item {
                syn::Item::Fn(function) if is_public(&function.vis) => {
                    layers.insert(function.sig.ident.to_string(), Used::of_item(&item).names);
                }
                syn::Item::Struct(one) if is_public(&one.vis) => drop(layers.entry(one.ident.to_string()).or_default()),
                syn::Item::Enum(one) if is_public(&one.vis) => drop(layers.entry(one.ident.to_string()).or_default()),
                syn::Item::Impl(block) => {
                    if let syn::Type::Path(path) = &*block.self_ty {
                        inner.push((last(&path.path), Used::of_item(&item).names));
                    }
                }
                _ => {}
            }
        }
    }
    // A model chooses one of the activations.
    for (name, uses) in inner.into_iter().filter(|(name, _)| name != "Activation") {
        layers.entry(name).and_modify(|names| names.extend(uses));
    }
    Ok(layers)
}

/// The names that matter: methods of tensors, the types of quantized tensors, and the functions and types of candle-nn.
fn known(core: &Path, layers: &BTreeMap<String, Names>) -> anyhow::Result<Names> {
    let mut names: Names = layers.keys().cloned().collect();
    names.insert("QMatMul".to_string());
    for file in rust_files(core)? {
        for item in parsed(&file)?.items {
            let syn::Item::Impl(syn::ItemImpl { self_ty, trait_: None, items, .. }) = item else { continue };
            let syn::Type::Path(path) = &*self_ty else { continue };
            let of = last(&path.path);
            let method = |item: &syn::ImplItem| match item {
                syn::ImplItem::Fn(method) if is_public(&method.vis) => Some(method.sig.ident.to_string()),
                // `unary_op!(exp, Exp)` makes a method.
                syn::ImplItem::Macro(made) => made.mac.tokens.clone().into_iter().next().map(|name| name.to_string()),
                _ => None,
            };
            for name in items.iter().filter_map(method).filter(|_| ["Tensor", "QTensor"].contains(&of.as_str())) {
                if of == "QTensor" {
                    names.insert(format!("{of}::{name}"));
                }
                names.insert(format!(".{name}"));
            }
        }
    }
    Ok(names)
}

fn is_public(visibility: &syn::Visibility) -> bool {
    matches!(visibility, syn::Visibility::Public(_))
}

/// The names in a piece of source.
#[derive(Debug, Default)]
struct Used {
    names: Names,
    /// The functions and types that it defines.
    defined: Names,
    paths: BTreeSet<Vec<String>>,
}

impl Used {
    fn of(file: &Path) -> anyhow::Result<Self> {
        let mut used = Self::default();
        used.visit_file(&parsed(file)?);
        Ok(used)
    }

    fn of_item(item: &syn::Item) -> Self {
        let mut used = Self::default();
        used.visit_item(item);
        used
    }

    fn path(&mut self, path: Vec<String>) {
        if let [.., of, name] = &path[..] {
            // `Tensor::cat` is a method.
            match of.as_str() {
                "Tensor" => drop(self.names.insert(format!(".{name}"))),
                "QTensor" => drop(self.names.insert(format!("{of}::{name}"))),
                _ => {}
            }
            if of.starts_with(char::is_uppercase) {
                self.names.insert(of.clone());
            }
        }
        self.names.extend(path.last().cloned());
        self.paths.insert(path);
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String]) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident)),
            syn::UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree, before)),
            // An import alone uses nothing.
            syn::UseTree::Name(name) => drop(self.paths.insert(with(&name.ident))),
            syn::UseTree::Rename(name) => {
                self.paths.insert(with(&name.ident));
                self.names.insert(name.ident.to_string());
            }
            syn::UseTree::Glob(_) => drop(self.paths.insert(before.to_vec())),
        }
    }
}

impl<'ast> Visit<'ast> for Used {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if !OF_NUMBERS.iter().any(|name| call.method == name) {
            self.names.insert(format!(".{}", call.method));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_try(&mut self, tried: &'ast syn::ExprTry) {
        if let syn::Expr::MethodCall(call) = &*tried.expr {
            self.names.insert(format!(".{}", call.method));
        }
        visit::visit_expr_try(self, tried);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree(&item.tree, &[]);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.defined.insert(item.ident.to_string());
        visit::visit_item_struct(self, item);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.defined.insert(item.sig.ident.to_string());
        visit::visit_item_fn(self, item);
    }
}

fn last(path: &syn::Path) -> String {
    path.segments.last().map_or_else(String::new, |segment| segment.ident.to_string())
}

fn parsed(file: &Path) -> anyhow::Result<syn::File> {
    let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))
}
