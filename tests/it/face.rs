//! The public face: all that a program may use of the library and what versions promise, in `snapshots/face.snap`.
//!
//! A change of that file is a change of the promise: what goes or takes another form breaks programs. The text is of the sources alone,
//! so it says nothing of traits that the compiler implements, such as `Send`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Fields, FieldsNamed, ImplItem, Item, ItemImpl, ItemUse, Type, UseTree, Visibility};

#[test]
fn the_public_face_is_the_promised_one() {
    let mut face = Face::default();
    face.module(&["snuffer".to_string()]);
    let text = face.lines.into_iter().collect::<Vec<_>>().join("\n");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("face", text);
    });
}

/// The lines of all public items, each with its path.
#[derive(Default)]
struct Face {
    lines: BTreeSet<String>,
}

impl Face {
    /// Adds what the module of this path shows.
    fn module(&mut self, path: &[String]) {
        for item in items(path) {
            match &item {
                Item::Mod(module) if is_shown(&module.vis, &module.attrs) => {
                    self.module(&[path, &[module.ident.to_string()]].concat());
                }
                Item::Use(shared) if is_shown(&shared.vis, &shared.attrs) => self.shared(path, shared),
                _ => self.item(path, path, &item),
            }
        }
    }

    /// Adds the items that a module passes on from others.
    fn shared(&mut self, path: &[String], shared: &ItemUse) {
        let mut leaves = Vec::new();
        flatten(&shared.tree, &mut Vec::new(), &mut leaves);
        for leaf in leaves {
            let (name, from) = leaf.split_last().expect("a name");
            if shared.attrs.iter().any(|attribute| text(attribute).contains("no_inline")) {
                self.line(path, &format!("use {}", leaf.join("::")));
                continue;
            }
            let (from, item) = defined(&absolute(path, from), name);
            self.item(path, &from, &item);
        }
    }

    /// Adds an item that the module `path` shows and the module `from` defines.
    fn item(&mut self, path: &[String], from: &[String], item: &Item) {
        match item {
            Item::Fn(item) if is_shown(&item.vis, &item.attrs) => self.line(path, &text(&item.sig)),
            Item::Const(item) if is_shown(&item.vis, &item.attrs) => {
                self.line(path, &format!("const {}: {}", item.ident, text(&item.ty)));
            }
            Item::Type(item) if is_shown(&item.vis, &item.attrs) => self.line(path, &text(item)),
            Item::Struct(item) if is_shown(&item.vis, &item.attrs) => {
                let name = item.ident.to_string();
                self.line(path, &format!("struct {name}{}{}", text(&item.generics), derived(&item.attrs)));
                if let Fields::Named(fields) = &item.fields {
                    self.fields(&[path, std::slice::from_ref(&name)].concat(), fields);
                }
                self.implementations(path, from, &name);
            }
            Item::Enum(item) if is_shown(&item.vis, &item.attrs) => {
                let name = item.ident.to_string();
                self.line(path, &format!("enum {name}{}{}", text(&item.generics), derived(&item.attrs)));
                for variant in &item.variants {
                    let inside = without_attributes(&variant.fields);
                    self.line(path, &format!("{name}::{}{inside}", variant.ident));
                }
                self.implementations(path, from, &name);
            }
            Item::Trait(item) if is_shown(&item.vis, &item.attrs) => {
                self.line(path, &format!("trait {}{}", item.ident, text(&item.generics)));
                for inside in &item.items {
                    if let syn::TraitItem::Fn(method) = inside {
                        self.line(path, &format!("{}::{}", item.ident, text(&method.sig)));
                    }
                }
                self.implementations(path, from, &item.ident.to_string());
            }
            _ => {}
        }
    }

    /// Adds the fields of a struct that programs see.
    fn fields(&mut self, path: &[String], fields: &FieldsNamed) {
        for field in fields.named.iter().filter(|field| is_shown(&field.vis, &field.attrs)) {
            self.line(path, &format!("{}: {}", text(&field.ident), text(&field.ty)));
        }
    }

    /// Adds the methods of a type or trait, and its implementations, from all files of the part of the library that defines it.
    fn implementations(&mut self, path: &[String], from: &[String], name: &str) {
        for block in blocks(&from[1], name) {
            let is_named = |of: &syn::Path| of.segments.last().is_some_and(|last| last.ident == name);
            let is_its = matches!(&*block.self_ty, Type::Path(of) if is_named(&of.path));
            if is_hidden(&block.attrs) {
                continue;
            }
            if let Some((_, of, _)) = &block.trait_ {
                if is_its || is_named(of) || text(of).ends_with(&format!("<{name}>")) {
                    self.line(
                        path,
                        &format!("impl{} {} for {}", text(&block.generics), text(of), text(&block.self_ty)),
                    );
                }
                continue;
            }
            if !is_its {
                continue;
            }
            for inside in block.items {
                match inside {
                    ImplItem::Fn(method) if is_shown(&method.vis, &method.attrs) => {
                        self.line(path, &format!("{name}::{}", text(&method.sig)));
                    }
                    ImplItem::Const(item) if is_shown(&item.vis, &item.attrs) => {
                        self.line(path, &format!("{name}::const {}: {}", item.ident, text(&item.ty)));
                    }
                    _ => {}
                }
            }
        }
    }

    fn line(&mut self, path: &[String], shown: &str) {
        self.lines.insert(format!("{}::{shown}", path.join("::")));
    }
}

/// The implementations that name `name`, in the files of a module of the library and of those below it.
fn blocks(module: &str, name: &str) -> Vec<ItemImpl> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let below = walkdir::WalkDir::new(source.join(module)).into_iter().filter_map(Result::ok);
    let below = below.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    let texts = std::iter::once(source.join(module).with_extension("rs")).chain(below).map(|file| read(&file));
    let named = texts.filter(|text| text.lines().any(|line| line.starts_with("impl") && line.contains(name)));
    let items = named.flat_map(|text| parsed(&text));
    items.filter_map(|item| if let Item::Impl(block) = item { Some(block) } else { None }).collect()
}

/// The items in the file of a module.
fn items(path: &[String]) -> Vec<Item> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let inside: PathBuf = path[1..].iter().collect();
    let file = if path.len() == 1 { source.join("lib.rs") } else { source.join(inside).with_extension("rs") };
    parsed(&read(&file))
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|_| panic!("{} is readable", file.display()))
}

fn parsed(text: &str) -> Vec<Item> {
    syn::parse_file(text).expect("a file of Rust").items
}

/// The path of a module from the root of the library on, by the words in which the module `path` imports from it.
fn absolute(path: &[String], words: &[String]) -> Vec<String> {
    match words.first().map(String::as_str) {
        Some("crate") => [&path[..1], &words[1..]].concat(),
        _ => [path, words].concat(),
    }
}

/// The item that the module `path` has by this name, and the module that defines it.
fn defined(path: &[String], name: &str) -> (Vec<String>, Item) {
    for item in items(path) {
        if name_of(&item).as_deref() == Some(name) {
            return (path.to_vec(), item);
        }
        if let Item::Use(shared) = &item {
            let mut leaves = Vec::new();
            flatten(&shared.tree, &mut Vec::new(), &mut leaves);
            let leaf = leaves.iter().filter_map(|leaf| leaf.split_last()).find(|(last, _)| *last == name);
            if let Some((_, from)) = leaf.filter(|_| !matches!(shared.vis, Visibility::Inherited)) {
                return defined(&absolute(path, from), name);
            }
        }
    }
    panic!("{} has no {name}", path.join("::"));
}

/// The paths of a tree of imports, without those of other names.
fn flatten(tree: &UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        UseTree::Name(name) => leaves.push([prefix.as_slice(), &[name.ident.to_string()]].concat()),
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, prefix, leaves)),
        UseTree::Rename(_) | UseTree::Glob(_) => {}
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Fn(item) => &item.sig.ident,
        Item::Const(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn is_shown(visibility: &Visibility, attributes: &[Attribute]) -> bool {
    matches!(visibility, Visibility::Public(_)) && !is_hidden(attributes)
}

fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| text(attribute) == "#[doc(hidden)]")
}

/// The traits that a type derives.
fn derived(attributes: &[Attribute]) -> String {
    let derives = attributes.iter().filter(|it| it.path().is_ident("derive"));
    derives.fold(String::new(), |all, one| all + " " + &text(one))
}

/// The fields of a variant, without attributes and comments.
fn without_attributes(fields: &Fields) -> String {
    let mut fields = fields.clone();
    fields.iter_mut().for_each(|field| field.attrs.clear());
    text(&fields)
}

/// Code on a line, with the spaces that people write.
fn text(code: &impl ToTokens) -> String {
    const TIGHT: [(&str, &str); 20] = [
        (" :: ", "::"),
        (":: ", "::"),
        (" <", "<"),
        ("< ", "<"),
        (" >", ">"),
        ("& ", "&"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        (",)", ")"),
        (" [", "["),
        ("[ ", "["),
        (" ]", "]"),
        (" :", ":"),
        (" ;", ";"),
        ("{", " {"),
        ("  {", " {"),
        ("->(", "-> ("),
        ("=(", "= ("),
    ];
    let text = code.to_token_stream().to_string();
    TIGHT.into_iter().fold(text, |text, (wide, narrow)| text.replace(wide, narrow))
}
