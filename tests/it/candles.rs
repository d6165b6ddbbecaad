//! Another candle: what `--candle` names, how it is read, and what of the suite is built with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use snuffer::CANDLE;
use snuffer::candles::{
    CompileError, Crate, Crates, LeftOut, Named, Origin, errors, obtain, of_candle, of_fuzz, of_library, of_workspace,
    released,
};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{CandleUnderTest, protocol};
use snuffer::oracle::{Functions, Spot};
use snuffer::outcome::Place;
use snuffer::store::Platform;
use tempfile::TempDir;
use toml::Table;

/// A folder with these files.
fn tree(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        fs::write(path, text).expect("writable");
    }
    folder
}

/// A checkout as far as manifests go: candle-nn inherits, candle-core has a path of its own.
fn checkout() -> TempDir {
    let root = "[workspace]\nmembers = [\"candle-core\"]\n[workspace.package]\nversion = \"0.12.0\"\n[workspace.dependencies]\n\
                candle = { path = \"./candle-core\", package = \"candle-core\" }\nhalf = \"2\"\n\
                candle-flash-attn = { path = \"./candle-flash-attn\", version = \"0.12.0\" }\n";
    let core = "[package]\nname = \"candle-core\"\nversion.workspace = true\n[dependencies]\nhalf = { workspace = true }\n\
                candle-kernels = { path = \"../candle-kernels\", version = \"0.12.0\", optional = true }\n\
                [target.'cfg(unix)'.dependencies]\ncandle-metal-kernels = { path = \"../candle-metal-kernels\" }\n\
                [[example]]\nname = \"basics\"\n[dev-dependencies]\nclap = \"4\"\n";
    let nn =
        "[package]\nname = \"candle-nn\"\nversion.workspace = true\n[dependencies]\ncandle = { workspace = true }\n";
    tree(&[
        ("Cargo.toml", root),
        ("candle-core/Cargo.toml", core),
        ("candle-core/src/lib.rs", "pub fn one() {}\n"),
        ("candle-core/tests/a.rs", "a test"),
        ("candle-nn/Cargo.toml", nn),
        ("candle-nn/src/lib.rs", "pub fn two() {}\n"),
        ("candle-metal-kernels/Cargo.toml", "[package]\nname = \"candle-metal-kernels\"\nversion = \"0.12.0\"\n"),
        ("candle-metal-kernels/src/lib.rs", ""),
        ("candle-transformers/Cargo.toml", "[package]\nname = \"candle-transformers\"\n"),
    ])
}

#[test]
fn a_kernel_is_compiled_again_if_a_header_differs() {
    let files = |header: &str| {
        let manifest = "[package]\nname = \"candle-kernels\"\nversion = \"0.12.0\"\n";
        let kernel = "#include \"cuda_utils.cuh\"\n";
        let folder = tree(&[
            ("Cargo.toml", manifest),
            ("src/unary.cu", kernel),
            ("src/cuda_utils.cuh", header),
            ("src/lib.rs", "pub mod ptx;\n"),
        ]);
        let one = Crate::read(folder.path()).expect("a crate");
        let built: BTreeMap<String, Vec<u8>> = one.to_build().map(|(path, bytes)| (path.clone(), bytes)).collect();
        assert!(built["src/unary.cu"].starts_with(kernel.as_bytes()), "the lines of the kernel stay where they are");
        built
    };
    let (one, same, other) = (files("// 1"), files("// 1"), files("// 2"));
    assert_eq!(one, same);
    assert_ne!(one["src/unary.cu"], other["src/unary.cu"]);
    assert_eq!(one["src/lib.rs"], other["src/lib.rs"]);
}

#[test]
fn a_name_is_a_release_a_checkout_or_patches() {
    let text = |path: &Path| path.display().to_string();
    let (checkout, patches) = (checkout(), tree(&[("b.patch", ""), ("a.diff", "")]));
    let parse = |text: &str| Named::parse(text).map(|named| (named.origin, named.cudnn));
    let release = |version: &str| Origin::Release(version.parse().expect("a version"));
    assert_eq!(parse("0.11.0").expect("a release"), (release("0.11.0"), false));
    assert_eq!(parse("0.11.0+cudnn").expect("a release"), (release("0.11.0"), true));
    assert_eq!(parse("+cudnn").expect("the release under test"), (release(CANDLE), true));
    assert_eq!(parse(&text(checkout.path())).expect("a checkout"), (Origin::Tree(checkout.path().into()), false));
    assert_eq!(parse(&text(patches.path())).expect("patches"), (Origin::Patches(patches.path().into()), false));
    let one = patches.path().join("b.patch");
    assert_eq!(parse(&text(&one)).expect("a patch"), (Origin::Patches(one), false));
    let empty = tempfile::tempdir().expect("a folder");
    for (typed, says) in
        [("0.11", "neither a release"), ("nowhere", "neither a release"), (&text(empty.path()), "name a checkout")]
    {
        let refused = parse(typed).expect_err("names nothing").to_string();
        assert!(refused.contains(says), "{typed}: {refused}");
    }
    let folder = |path: &str| Named { origin: Origin::Tree(path.into()), cudnn: false }.folder();
    assert!(folder("/a/my candle").starts_with("my-candle-") && folder("/a/candle") != folder("/b/candle"));
}

#[test]
fn of_a_checkout_what_a_worker_needs_is_read() {
    let checkout = checkout();
    let crates = Crates::read(checkout.path()).expect("readable");
    let names: Vec<&str> = crates.own.keys().map(String::as_str).collect();
    assert_eq!(names, ["candle-core", "candle-metal-kernels", "candle-nn"]);
    assert_eq!(crates.version, "0.12.0");
    assert!(crates.own["candle-core"].files.keys().eq(["src/lib.rs"]), "its tests are not built");
    let before = crates.digest();
    fs::write(checkout.path().join("candle-core/tests/a.rs"), "another test").expect("writable");
    assert_eq!(Crates::read(checkout.path()).expect("readable").digest(), before);
    fs::write(checkout.path().join("candle-nn/src/lib.rs"), "pub fn three() {}\n").expect("writable");
    assert_ne!(Crates::read(checkout.path()).expect("readable").digest(), before);
}

#[test]
fn kernels_as_released_are_not_compiled_again() {
    let released = released("candle-kernels").expect("fetched");
    let checkout = checkout();
    let kernels = checkout.path().join("candle-kernels");
    let copied = std::process::Command::new("cp").arg("-r").arg("--").arg(released).arg(&kernels).status();
    assert!(copied.expect("cp runs").success());
    let has_kernels = || Crates::read(checkout.path()).expect("readable").own.contains_key("candle-kernels");
    assert!(!has_kernels());
    fs::write(kernels.join("src/affine.cu"), "// Edited.").expect("writable");
    assert!(has_kernels());
}

#[test]
fn what_is_as_released_is_the_release_under_test() {
    let (work, none) = (tempfile::tempdir().expect("a folder"), tree(&[("empty.patch", "")]));
    let crates = |named: &Path| {
        let named = Named::parse(&named.display().to_string()).expect("patches");
        obtain(&named, work.path()).expect("they apply")
    };
    assert!(crates(none.path()).is_release_under_test());
    let patch = "--- a/candle-nn/src/lib.rs\n+++ b/candle-nn/src/lib.rs\n@@ -0,0 +1 @@\n+// Patched.\n";
    let patched = crates(tree(&[("a.patch", patch)]).path());
    assert_eq!(patched.own.keys().collect::<Vec<_>>(), ["candle-nn"], "the rest is compiled already");
    assert!(patched.own["candle-nn"].files["src/lib.rs"].starts_with(b"// Patched.\n"));
    let own = Named::parse(CANDLE).expect("a release");
    assert!(obtain(&own, work.path()).expect("a release").is_release_under_test());
    let with_cudnn = obtain(&Named { cudnn: true, ..own }, work.path()).expect("a release");
    assert!(!with_cudnn.is_release_under_test(), "it has workers of its own");
}

#[test]
fn manifests_lead_to_the_copies() {
    let checkout = checkout();
    let crates = Crates::read(checkout.path()).expect("readable");
    let ours: Table = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .expect("readable")
        .parse()
        .expect("TOML");
    let core = of_candle(&crates.own["candle-core"].manifest, &crates);
    assert!(!core.contains_key("example") && !core.contains_key("dev-dependencies"), "{core}");
    let kernels = &core["dependencies"]["candle-kernels"];
    assert_eq!(
        (kernels.get("path"), kernels["version"].as_str()),
        (None, Some(&*format!("={CANDLE}"))),
        "the one of the release"
    );
    assert_eq!(
        core["target"]["cfg(unix)"]["dependencies"]["candle-metal-kernels"]["path"].as_str(),
        Some("../candle-metal-kernels")
    );
    let library = of_library(&ours, &crates, Path::new("/project")).expect("a manifest");
    assert!(library["features"].get("cudnn").is_none(), "older candles have no such feature");
    let candle = &library["dependencies"]["candle-core"];
    assert_eq!((candle["path"].as_str(), candle["version"].as_str()), (Some("../candle-core"), Some("=0.12.0")));
    assert_eq!(library["dependencies"]["serde"], ours["dependencies"]["serde"]);
    let beside = &library["dependencies"]["snuffer-device-record"]["path"];
    assert_eq!(beside.as_str(), Some("/project/simulator/record"), "it stays where it is");
    let root: Table = of_workspace(&ours, &crates, "mine-0123abc").expect("a manifest").parse().expect("TOML");
    let inherited = &root["workspace"]["dependencies"];
    assert_eq!(inherited["candle"]["path"].as_str(), Some("mine-0123abc/candle-core"));
    assert_eq!((inherited["candle-flash-attn"].get("path"), &inherited["half"]), (None, &"2".into()));
    // Cargo tells packages of two workspaces apart by these paths.
    assert_eq!(root["patch"]["crates-io"]["candle-nn"]["path"].as_str(), Some("mine-0123abc/candle-nn"));
    assert_eq!(root["dependencies"]["snuffer"]["path"].as_str(), Some("mine-0123abc/snuffer"));
    assert_eq!(root["workspace"]["package"]["version"].as_str(), Some("0.12.0"));
    assert_eq!(root["profile"]["dev"]["opt-level"], ours["profile"]["dev"]["opt-level"], "dependencies are shared");
}

#[test]
fn the_fuzz_targets_link_the_library_of_the_workspace_and_stay_where_they_are() {
    let project = Path::new("/project");
    let crates = Crates::read(checkout().path()).expect("readable");
    let ours = include_str!("../../fuzz/Cargo.toml").parse().expect("TOML");
    let fuzz = of_fuzz(&ours, &crates, "mine-0123abc", project).expect("a manifest");
    assert_eq!(fuzz["dependencies"]["snuffer"]["path"].as_str(), Some("../workspace/mine-0123abc/snuffer"));
    assert_eq!(fuzz["dependencies"]["simulator"]["path"].as_str(), Some("/project/simulator"));
    assert_eq!(fuzz["bin"][0]["path"].as_str(), Some("/project/fuzz/fuzz_targets/forward.rs"));
    assert_eq!(fuzz["patch"]["crates-io"]["candle-nn"]["path"].as_str(), Some("../workspace/mine-0123abc/candle-nn"));
    let [package, library] =
        [&fuzz["package"]["name"], &fuzz["lib"]["name"]].map(|name| name.as_str().expect("a name"));
    assert_eq!((package, library), ("snuffer_fuzz-mine-0123abc", "snuffer_fuzz"), "Cargo tells candles apart by it");
}

#[test]
fn a_patch_that_does_not_apply_is_a_line() {
    let wrong = "--- a/candle-nn/src/ops.rs\n+++ b/candle-nn/src/ops.rs\n@@ -1,1 +1,1 @@\n-no such line\n+another\n";
    let (patches, work) = (tree(&[("a.patch", wrong)]), tempfile::tempdir().expect("a folder"));
    let named = Named::parse(&patches.path().display().to_string()).expect("patches");
    let refused = obtain(&named, work.path()).expect_err("does not apply").to_string();
    assert!(refused.contains(&format!("a.patch does not apply to candle {CANDLE}: ")), "{refused}");
}

fn error(folder: &Path, files: &[&str], message: &str) -> CompileError {
    let places = files.iter().map(|file| (folder.join(file), 0..1)).collect();
    CompileError { message: message.to_string(), rendered: String::new(), places }
}

#[test]
fn ops_that_do_not_compile_are_left_out_and_the_rest_stays() {
    let ops = Path::new("/x/snuffer/src/ops");
    let mut left_out = LeftOut::default();
    let found = [
        error(ops, &["support/kv_cache.rs", "cache/interleaved.rs"], "no such type"),
        error(ops, &["cache/interleaved.rs"], "no such function"),
    ];
    let new = left_out.blame(&found, ops).expect("of ops");
    assert_eq!(new, [("cache/interleaved".to_string(), "no such type")], "the op, not what others share");
    assert!(left_out.blame(&found[1..], ops).expect("of ops").is_empty(), "it was left out before");
    let family = "pub(super) mod concat;\npub(super) mod interleaved;\nuse super::Op;\nconst OPS: &[&Op] = &[\n    &concat::CONCAT,\n    \
                  &interleaved::INTERLEAVED,\n];\n";
    let kept = "pub(super) mod concat;\nuse super::Op;\nconst OPS: &[&Op] = &[\n    &concat::CONCAT,\n];\n";
    assert_eq!(left_out.apply(Path::new("src/ops/cache.rs"), family.to_string()), kept);
    let in_a_row =
        "const OPS: &[&Op] =\n    &[&concat::CONCAT, &interleaved::INTERLEAVED, &interleaved::RAW, &kv::KV];\n";
    let kept = "const OPS: &[&Op] =\n    &[&concat::CONCAT, &kv::KV];\n";
    assert_eq!(left_out.apply(Path::new("src/ops/cache.rs"), in_a_row.to_string()), kept);
    for other in ["src/ops/loss.rs", "src/cache.rs", "src/ops/cache/concat.rs"] {
        assert_eq!(left_out.apply(Path::new(other), family.to_string()), family, "{other}");
    }
    let shared = [error(ops, &["support/products/custom_ops.rs"], "a type is private")];
    left_out.blame(&shared, ops).expect("of what ops share");
    let modules = "pub mod attention;\npub mod custom_ops;\n";
    assert_eq!(left_out.apply(Path::new("src/ops/support/products.rs"), modules.to_string()), "pub mod attention;\n");
    let elsewhere = [error(Path::new("/x/snuffer/src"), &["run.rs"], "gone")];
    assert_eq!(left_out.blame(&elsewhere, ops).expect_err("no op is to blame").message, "gone");
}

#[test]
fn errors_of_the_compiler_name_files_of_the_workspace() {
    let workspace = tree(&[("snuffer/src/ops/loss/nll.rs", "")]);
    let span =
        r#"{"file_name":"snuffer/src/ops/loss/nll.rs","is_primary":true,"byte_start":3,"byte_end":5,"expansion":null}"#;
    let manifest = workspace.path().join("snuffer/Cargo.toml");
    let message = |level: &str, spans: &str| {
        let manifest = manifest.display();
        format!(
            r#"{{"reason":"compiler-message","manifest_path":"{manifest}","message":{{"level":"{level}","message":"m","rendered":"r","spans":[{spans}]}}}}"#
        )
    };
    let printed = [
        message("warning", span),
        message("error", span),
        message("error", ""),
        r#"{"reason":"build-finished"}"#.into(),
    ];
    let found = errors(printed.join("\n").as_bytes(), workspace.path()).expect("JSON");
    let file = workspace.path().join("snuffer/src/ops/loss/nll.rs");
    assert_eq!(found, [CompileError { message: "m".into(), rendered: "r".into(), places: vec![(file, 3..5)] }]);
}

#[test]
fn a_worker_of_another_candle_is_told_from_ours_and_may_lack_ops() {
    let lacks = vec!["cache.kv".to_string()];
    let other =
        CandleUnderTest { version: "0.10.2".into(), named: "0.10.2".into(), lacks, ..CandleUnderTest::default() };
    let [ours, theirs] = [None, Some(&other)].map(protocol::build_identity);
    assert!(ours.contains(&format!("candle {CANDLE} as released:")) && ours.contains(" cache.kv "), "{ours}");
    assert!(theirs.contains("candle 0.10.2 ") && !theirs.contains(" cache.kv "), "{theirs}");
    let sequence =
        Case { op: "sequence".into(), steps: vec!["tensor.neg".into(), "cache.kv".into()], ..Case::default() };
    assert_eq!(other.lacks(&sequence), Some("cache.kv"));
    assert_eq!(other.lacks(&Case { op: "tensor.neg".into(), ..Case::default() }), None);
    let platform = Platform::today(Device::Cpu, None);
    assert_eq!(platform.clone().with(Some(&other)).candle.to_string(), "0.10.2");
    assert_eq!(platform.with(None).candle.to_string(), CANDLE);
}

#[test]
fn a_place_of_another_candle_is_in_its_own_function() {
    let functions = Functions::parse("candle-nn/src/ops.rs\t1\t9\tfirst\n");
    let located = |place: &str| {
        let mut place = Place::from(place);
        functions.locate(&mut place);
        place
    };
    let spot = |place: &str| Spot::of(&located(place)).expect("it is known").to_string();
    assert_eq!(located("candle-nn/src/ops.rs:5").to_string(), "candle-nn/src/ops.rs:5 in first");
    assert_eq!(spot("candle-nn/src/ops.rs:5"), "first (candle-nn/src/ops.rs)");
    assert_eq!(spot("candle-nn/src/ops.rs:12"), "candle-nn/src/ops.rs", "in none, whatever ours has there");
    assert_eq!(located("candle-nn/src/loss.rs:5").to_string(), "candle-nn/src/loss.rs:5", "a file that is ours");
}
