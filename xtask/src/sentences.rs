//! `cargo xtask sentences`: every sentence that a user can read, with its place, in one file to be proofread.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proc_macro2::{Span, TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};

/// Where texts are.
const FOLDERS: [&str; 8] =
    ["README.md", "docs", "corpora/causes", "src", "cargo-snuffer/src", "toolkit/src", "simulator", "xtask/src"];

/// Keys of TOML files whose values people read.
const KEYS: [&str; 8] = ["title", "explanation", "note", "decision", "pytorch", "expected", "workaround", "because"];

#[derive(Debug, clap::Args)]
pub struct Args {
    /// Where to write the sentences.
    #[arg(long, value_name = "FILE", default_value = "target/sentences.md")]
    output: PathBuf,
    /// Write only the N longest sentences, longest first.
    #[arg(long, value_name = "N")]
    longest: Option<usize>,
}

/// A line of a file, from 1, and the text that begins there.
type Text = (usize, String);

/// Writes the sentences of the project in the current directory. Returns 0.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let mut sentences = Vec::new();
    for file in FOLDERS.iter().map(|folder| files(Path::new(folder))).collect::<anyhow::Result<Vec<_>>>()?.concat() {
        let source = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let texts = match file.extension().and_then(|extension| extension.to_str()) {
            Some("md") => markdown(&source),
            Some("toml") => toml(&source),
            _ => rust(&source).with_context(|| format!("cannot parse {}", file.display()))?,
        };
        for (line, text) in texts {
            sentences.extend(split(&text).into_iter().map(|it| (format!("{}:{line}", file.display()), it)));
        }
    }
    if let Some(longest) = args.longest {
        sentences.sort_by_key(|(_, sentence)| Reverse(sentence.split(' ').count()));
        sentences.truncate(longest);
    }
    let lines: Vec<String> = sentences.iter().map(|(place, sentence)| format!("{place}: {sentence}\n")).collect();
    fs::write(&args.output, lines.concat()).with_context(|| format!("cannot write {}", args.output.display()))?;
    println!("{} sentences in {}", sentences.len(), args.output.display());
    Ok(0)
}

/// The files with texts at or below `path`, in order.
fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if path.is_dir() {
        let mut entries = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<anyhow::Result<Vec<_>>>()?;
        let is_hidden =
            |entry: &PathBuf| ["tests", "tests.rs", "benches", "examples"].iter().any(|name| entry.ends_with(name));
        entries.retain(|entry| !is_hidden(entry));
        entries.sort();
        return Ok(entries.iter().map(|entry| files(entry)).collect::<anyhow::Result<Vec<_>>>()?.concat());
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let has_texts = ["cause.toml", "themes.toml", "reasons.toml"].contains(&&*name)
        || name.ends_with(".md")
        || name.ends_with(".rs");
    Ok(if has_texts { vec![path.into()] } else { Vec::new() })
}

/// Paragraphs, headings, items of lists and cells of tables, without code blocks and targets of links. Generated pages are left out.
fn markdown(source: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let (mut is_code, mut continues) = (false, false);
    for (line, text) in (1..).zip(source.lines().map(str::trim_start)) {
        let is_fence = text.starts_with("```");
        is_code ^= is_fence;
        if text.starts_with("Made from `") || text.starts_with("Made by `") {
            return Vec::new();
        } else if is_code || is_fence || text.is_empty() || text.starts_with('[') && text.contains("]: ") {
            continues = false;
        } else if text.starts_with('|') {
            texts.extend(text.split('|').map(|cell| (line, cell.into())));
        } else if continues && !text.starts_with("- ") {
            texts.last_mut().expect("a text that continues").1 += &format!(" {text}");
        } else {
            texts.push((line, text.trim_start_matches(['#', '-', ' ']).into()));
            continues = !text.starts_with('#');
        }
    }
    texts
}

/// The values of `KEYS`.
fn toml(source: &str) -> Vec<Text> {
    let mut texts: Vec<Text> = Vec::new();
    let mut continues = false;
    for (line, text) in (1..).zip(source.lines()) {
        if let Some((_, value)) = text.split_once(" = ").filter(|(key, _)| KEYS.contains(key)) {
            texts.push((line, value.into()));
            continues = ["\"\"\"", "["].contains(&value);
        } else if continues {
            texts.last_mut().expect("a text that continues").1 += &format!(" {text}");
            continues = !["\"\"\"", "]"].contains(&text);
        }
    }
    texts
}

/// The literals, and the comments of which clap makes help.
fn rust(source: &str) -> syn::Result<Vec<Text>> {
    let mut literals = Literals::default();
    literals.visit_file(&syn::parse_file(source)?);
    Ok(literals.texts)
}

#[derive(Default)]
struct Literals {
    texts: Vec<Text>,
    /// Comments become help.
    is_help: bool,
    /// The last line of the last comment.
    comment: usize,
}

impl Literals {
    fn add(&mut self, span: Span, text: String) {
        // Templates of programs are not sentences.
        if !text.contains("{%") && !text.contains("{{ ") {
            self.texts.push((span.start().line, text));
        }
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                // What follows is an attribute, such as a comment.
                TokenTree::Punct(mark) if mark.as_char() == '#' => drop(tokens.next()),
                TokenTree::Literal(literal) => {
                    if let syn::Lit::Str(text) = syn::Lit::new(literal) {
                        self.add(text.span(), text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

impl<'a> Visit<'a> for Literals {
    fn visit_lit_str(&mut self, literal: &'a syn::LitStr) {
        self.add(literal.span(), literal.value());
    }

    fn visit_macro(&mut self, invocation: &'a syn::Macro) {
        self.tokens(invocation.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'a syn::Attribute) {
        if let syn::Meta::NameValue(syn::MetaNameValue { value: syn::Expr::Lit(literal), .. }) = &attribute.meta
            && let syn::Lit::Str(text) = &literal.lit
            && self.is_help
        {
            let line = text.span().start().line;
            match self.texts.last_mut().filter(|_| self.comment + 1 == line) {
                Some((_, begun)) => *begun += &text.value(),
                None => self.add(text.span(), text.value()),
            }
            self.comment = line;
        }
    }

    fn visit_item(&mut self, item: &'a syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Enum(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        let has = |word| attributes.iter().any(|it| it.to_token_stream().to_string().contains(word));
        if !has("cfg (test)") {
            self.is_help = ["Args", "Parser", "Subcommand", "ValueEnum"].into_iter().any(has);
            visit::visit_item(self, item);
            self.is_help = false;
        }
    }
}

/// The sentences of a text of at least three words, each on one line.
fn split(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.trim_matches(['"', ' ']).split_whitespace().collect();
    if words.iter().filter(|word| word.contains(char::is_alphabetic)).count() < 3 {
        return Vec::new();
    }
    let text = words.join(" ").replace(". ", ".\n").replace("? ", "?\n");
    text.lines().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::{markdown, rust, split, toml};

    fn sentences(texts: Vec<(usize, String)>) -> Vec<(usize, String)> {
        texts.into_iter().flat_map(|(line, text)| split(&text).into_iter().map(move |it| (line, it))).collect()
    }

    #[test]
    fn messages_and_help_are_found_but_nothing_of_tests() {
        let source = "#[derive(Args)]\nstruct A {\n    /// Where to write\n    /// all of it.\n    #[arg(name = \"a b c\")]\n    \
                      to: u8,\n}\nfn f() {\n    m!(#[doc = \"not for a user\"] \"no device of {name}\");\n    g(\"two words\");\n}\n#[cfg(test)]\nmod \
                      tests {\n    const T: &str = \"in a test\";\n}\n";
        let found = sentences(rust(source).expect("Rust"));
        assert_eq!(found, [(3, "Where to write all of it.".into()), (9, "no device of {name}".into())]);
    }

    #[test]
    fn paragraphs_are_joined_and_code_is_left_out() {
        let source = "# A short title\nOne and\ntwo. Three\n\n```\nsome code here\n```\n| a | the other cell |\n- an item\n  more\n";
        let expected =
            [(1, "A short title"), (2, "One and two."), (2, "Three"), (8, "the other cell"), (9, "an item more")];
        assert_eq!(sentences(markdown(source)), expected.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn texts_of_causes_have_their_lines() {
        let source =
            "rank = \"limit\"\ntitle = \"A title here\"\nexplanation = \"\"\"\nIt explains it.\n\"\"\"\nat = [\n]\n";
        let expected = [(2, "A title here"), (3, "It explains it.")];
        assert_eq!(sentences(toml(source)), expected.map(|(line, text)| (line, text.to_owned())));
    }
}
