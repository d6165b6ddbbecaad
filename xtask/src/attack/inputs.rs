//! Hostile cases, safetensors files and arguments: each is answered, or refused in a line.

use std::fs;
use std::path::Path;

use rand_core::Rng;
use rand_pcg::Pcg64Mcg;

use super::ground::{DEADLINE, Ground};
use super::judge::{DOCUMENTED, run};
use super::mutate::{TEXTS, below, damaged, hostile, one_of};

/// What readers do with a case; a limit of the time and memory that it gets.
const CASE: [&[&str]; 5] = [
    &["replay", "bad/case.toml", "--device", "cpu", "--timeout", "2s", "--memory", "1024"],
    &["replay", "bad/case.toml", "--json", "--device", "cpu", "--timeout", "2s", "--memory", "1024"],
    &["replay", "bad/case.toml", "--trace-nan", "--device", "cpu", "--timeout", "2s", "--memory", "1024"],
    &["minimize", "bad/case.toml", "--time", "1s", "--device", "cpu", "--timeout", "2s", "--memory", "1024"],
    &[
        "import",
        "bad",
        "--store",
        "store",
        "--minimize",
        "1s",
        "--device",
        "cpu",
        "--timeout",
        "2s",
        "--memory",
        "1024",
    ],
];

/// What the guard is asked about a file.
const FILE: [&[&str]; 6] = [
    &["guard", "bad/case.toml"],
    &["guard", "bad/case.toml", "--labels", "target", "--classes", "3"],
    &["guard", "bad/case.toml", "--ids", "target", "--vocabulary", "3"],
    &["guard", "bad/case.toml", "--finite", "x"],
    &["guard", "bad/case.toml", "--op", "tensor.matmul", "--input", "x=x", "--input", "rhs=x", "--output", "case"],
    &["guard", "bad/case.toml", "--op", "layer.embedding", "--input", "ids=target", "--input", "weight=x"],
];

/// One hostile input, for one command.
pub fn experiment(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    match rng.next_u64() % 8 {
        0..4 => {
            let case = &ground.cases[below(rng, ground.cases.len())];
            let content = match rng.next_u64() % 4 {
                0 => damaged(rng, case.as_bytes(), &[ground.cases[0].clone().into_bytes()]),
                _ => hostile(rng, case).into_bytes(),
            };
            write(folder.path(), &content)?;
            ends(ground, folder.path(), CASE[below(rng, CASE.len())])
        }
        4..7 => {
            write(folder.path(), &safetensors(rng))?;
            ends(ground, folder.path(), FILE[below(rng, FILE.len())])
        }
        _ => {
            let value = argument(rng);
            let op = one_of(rng, &["loss.huber", "tensor.matmul", "tensor.exp", "create.full", "layer.conv2d", &value]);
            let name = one_of(rng, &["--delta", "--x", "--rows", "--x.shape", "--x.dtype", "--form"]);
            ends(ground, folder.path(), &["new", op, name, &value])
        }
    }
}

fn ends(ground: &Ground, folder: &Path, args: &[&str]) -> anyhow::Result<()> {
    run(&mut ground.command(folder, args), DEADLINE)?.survived(&DOCUMENTED).map(drop)
}

fn write(folder: &Path, content: &[u8]) -> anyhow::Result<()> {
    let bad = folder.join("bad");
    fs::create_dir(&bad)?;
    Ok(fs::write(bad.join("case.toml"), content)?)
}

/// A safetensors file with a hostile header, or one that is damaged.
fn safetensors(rng: &mut Pcg64Mcg) -> Vec<u8> {
    const GOOD: &str = "{\"target\":{\"dtype\":\"I64\",\"shape\":[0,4,2],\"data_offsets\":[0,0]},\n\
        \"x\":{\"dtype\":\"F32\",\"shape\":[2,2],\"data_offsets\":[0,16]},\n\
        \"__metadata__\":{\"a\":\"b\"}}";
    let header = hostile(rng, GOOD);
    let length = [header.len() as u64, header.len() as u64, header.len() as u64, rng.next_u64()][below(rng, 4)];
    let file = [&length.to_le_bytes(), header.as_bytes(), &[0; 16]].concat();
    if below(rng, 4) == 0 { damaged(rng, &file, &[GOOD.into()]) } else { file }
}

/// An argument that is deep, long, huge or obeyed by something.
fn argument(rng: &mut Pcg64Mcg) -> String {
    let many = 10_usize.pow(below(rng, 5) as u32);
    match rng.next_u64() % 6 {
        0 => "[".repeat(many) + &"]".repeat(many),
        1 => "a".repeat(many),
        2 => format!("[0, {}, {}]", 1_u64 << 62, i64::MAX),
        3 => "9".repeat(many),
        4 => one_of(rng, &TEXTS).replace(r"\u001b", "\u{1b}").replace(r"\n", "\n"),
        _ => "{a.b = [1, ".repeat(many.min(100)),
    }
}
