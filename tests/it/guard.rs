//! The guard refuses what contracts reject, passes what they accept, and names the first bad element.

use std::path::Path;
use std::process::{Command, Output};

use candle_core::{DType, Device as CandleDevice, IndexOp, Tensor};
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::generate::Mode;
use snuffer::guard::{self, Refused};
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, Op, sequence, why};
use snuffer::run::to_candle;
use snuffer::store::regression::read;

/// How many cases of each op, half of them adversarial.
const CASES: u64 = 300;

#[test]
fn the_guard_refuses_what_a_contract_rejects_and_passes_what_it_accepts() {
    let (mut refused, mut passed, mut wrong) = (0, 0, Vec::new());
    for op in ops::ALL.iter().filter(|op| !["canary", "sequence"].contains(&op.name)) {
        for index in 0..CASES {
            let case = Sample::nth(&[op], &[Mode::Valid, Mode::Adversarial], 5, index).drawn.case;
            let (contract, guarded) = (op.contract(&case), guarded(op, &case));
            let fits = match contract {
                Contract::Rejects(_) => guarded.is_err(),
                Contract::Accepts { refusal: None, .. } if op.supports(&case, Device::Cpu) => guarded.is_ok(),
                Contract::Accepts { .. } | Contract::Unspecified(_) => continue,
            };
            refused += u32::from(guarded.is_err());
            passed += u32::from(guarded.is_ok());
            if !fits {
                wrong.push(format!("{contract:?}, but {guarded:?} for\n{}", case.to_text()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} calls:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    assert!(refused > 4_000 && passed > 20_000, "only {refused} refused and {passed} passed");
}

#[test]
fn the_guard_refuses_every_invalid_scenario_and_passes_every_valid_one() {
    let (mut refused, mut passed) = (0, 0);
    for (name, scenario) in read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/scenarios")).expect("scenarios") {
        let op = ops::find(&scenario.case.op).expect(&name);
        let calls = match sequence::placed(&scenario.case) {
            steps if steps.is_empty() => vec![(op, scenario.case.clone())],
            steps => steps.into_iter().map(|step| (step.op, step.call)).collect(),
        };
        let guarded: Result<(), Refused> = calls.iter().try_for_each(|(op, case)| guarded(op, case));
        match op.contract(&scenario.case) {
            Contract::Rejects(_) => {
                assert!(guarded.is_err(), "{name} passes");
                refused += 1;
            }
            Contract::Accepts { refusal: Some(why::DTYPE), .. } | Contract::Unspecified(_) => {}
            Contract::Accepts { .. } if !scenario.title.contains("an Err everywhere") => {
                assert_eq!(guarded, Ok(()), "{name}");
                passed += 1;
            }
            Contract::Accepts { .. } => {}
        }
    }
    assert!(refused >= 20 && passed >= 40, "{refused} refused, {passed} passed");
}

#[test]
fn the_first_bad_element_is_named() {
    let cpu = &CandleDevice::Cpu;
    let ids = |values: &[i64]| Tensor::new(values, cpu).expect("a tensor");
    let u8s = Tensor::new(&[0u8, 255], cpu).expect("a tensor");
    let padded = ids(&[5, 1, -1, 7, 3, -1]).reshape((2, 3)).expect("six").t().expect("a matrix");
    let halves = Tensor::new(&[1f32, 2.0, f32::NAN, f32::INFINITY], cpu).expect("a tensor").to_dtype(DType::F16);
    let many = Tensor::ones(10_000, DType::F64, cpu).expect("a tensor");
    let late = Tensor::cat(&[&many, &Tensor::new(&[f64::NEG_INFINITY], cpu).expect("one")], 0).expect("one more");
    for (checked, message) in [
        (guard::labels("y", &ids(&[0, 195, 200]), 195, None), "y: 195 at [1] is not a label of 195 classes (0 to 194)"),
        (guard::labels("y", &ids(&[-100, -1]), 10, Some(-100)), "y: -1 at [1] is not a label of 10 classes (0 to 9)"),
        (guard::labels("y", &u8s, 10, None), "y: 255 at [1] is not a label of 10 classes (0 to 9)"),
        (guard::labels("y", &ids(&[0]), 0, None), "y: 0 at [0] is a label, but there are no classes"),
        (guard::ids("x", &padded, 10), "x: -1 at [2, 0] is not a row of a table of 10 rows"),
        (
            guard::ids("x", &padded.to_dtype(DType::F32).expect("floats"), 10),
            "x: is f32; candle accepts ids of u8, u32 and i64",
        ),
        (guard::finite("h", &halves.expect("f16")), "h: NaN at [2] is not finite"),
        (guard::finite("h", &late), "h: -inf at [10000] is not finite"),
        (guard::agree(&[("a", &u8s), ("b", &late)]), "b: is f64, but a is u8"),
    ] {
        assert_eq!(checked.expect_err(message).to_string(), message);
    }
    assert_eq!(guard::labels("y", &ids(&[-100, 9]), 10, Some(-100)), Ok(()));
    assert_eq!(guard::ids("x", &padded.i((..2, ..)).expect("two columns"), 10), Ok(()));
    assert_eq!(guard::finite("x", &padded), Ok(()));
    assert_eq!(guard::agree(&[("a", &late), ("b", &many)]), Ok(()));
    assert_eq!(guard::agree(&[]), Ok(()));
}

#[test]
fn a_call_names_the_rule_the_element_and_the_tensors() {
    let logits = Tensor::zeros((2, 3), DType::F32, &CandleDevice::Cpu).expect("a tensor");
    let labels = |values: &[u32]| Tensor::new(values, &CandleDevice::Cpu).expect("a tensor");
    let check =
        |target: &Tensor| guard::Call::new("loss.cross_entropy").input("inp", &logits).input("target", target).check();
    assert_eq!(check(&labels(&[0, 2])), Ok(()));
    for (target, message) in [
        (
            labels(&[2, 3]),
            "loss.cross_entropy: label out of range: 3 at [1] of target (inp f32 [2, 3], target u32 [2])",
        ),
        (labels(&[0, 1, 2]), "loss.cross_entropy: shapes do not match: (inp f32 [2, 3], target u32 [3])"),
        (
            labels(&[0, 1]).to_dtype(DType::F32).expect("floats"),
            "loss.cross_entropy: ids are not integers: (inp f32 [2, 3], target f32 [2])",
        ),
        (
            labels(&[0, 1]).to_dtype(DType::I32).expect("i32"),
            "loss.cross_entropy: candle does not list this dtype for the op: (inp f32 [2, 3], target i32 [2])",
        ),
    ] {
        assert_eq!(check(&target).expect_err(message).to_string(), message);
    }
    let unknown = guard::Call::new("loss.crossentropy").check().expect_err("no such op").to_string();
    assert_eq!(unknown, "loss.crossentropy: there is no op `loss.crossentropy`; did you mean `loss.cross_entropy`?");
    let as_candles: candle_core::Error = check(&labels(&[9, 0])).expect_err("no class").into();
    assert!(as_candles.to_string().contains("9 at [0] of target"), "{as_candles}");
}

#[test]
fn rows_with_an_ignored_label_are_dropped_as_in_pytorch() {
    let logits = Tensor::new(&[[1f32, 2.0], [5.0, 0.0], [0.0, 0.0]], &CandleDevice::Cpu).expect("a tensor");
    let labels = Tensor::new(&[0i64, -100, 1], &CandleDevice::Cpu).expect("a tensor");
    let rows = guard::rows_to_keep(&labels, -100).expect("a vector");
    assert_eq!(rows.to_vec1::<u32>().expect("u32"), [0, 2]);
    let kept = |tensor: &Tensor| tensor.index_select(&rows, 0).expect("rows");
    let loss = candle_nn::loss::cross_entropy(&kept(&logits), &kept(&labels)).expect("a loss");
    // torch.nn.functional.cross_entropy with ignore_index=-100: the mean of ln(1 + e) and ln 2.
    let expected = f64::midpoint(1f64.exp().ln_1p(), 2f64.ln());
    assert!((f64::from(loss.to_scalar::<f32>().expect("a scalar")) - expected).abs() < 1e-6);
}

#[test]
fn the_command_checks_the_tensors_of_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("batch.safetensors");
    let tensor = |values: &[f32]| Tensor::new(values, &CandleDevice::Cpu).expect("a tensor");
    let tensors = [
        ("logits", Tensor::zeros((4, 195), DType::F32, &CandleDevice::Cpu).expect("a tensor")),
        ("target", Tensor::new(&[0u32, 7, 194, 195], &CandleDevice::Cpu).expect("a tensor")),
        ("pixels", tensor(&[0.5, f32::NAN])),
        ("halves", tensor(&[0.5, 1.5]).to_dtype(DType::F16).expect("f16")),
    ];
    candle_core::safetensors::save(&tensors.into_iter().collect(), &file).expect("written");
    let file = file.to_str().expect("text");
    let call = ["--op", "loss.cross_entropy", "--input", "inp=logits", "--input", "target=target"];
    for (args, code, message) in [
        (&["--labels", "target", "--classes", "196"][..], 0, "fine     target: labels of 196 classes"),
        (
            &["--labels", "target", "--classes", "195"],
            2,
            "refused  target: 195 at [3] is not a label of 195 classes (0 to 194)",
        ),
        (&["--labels", "target", "--classes", "195", "--ignore", "195"], 0, "fine     target"),
        (
            &["--ids", "target", "--vocabulary", "100"],
            2,
            "refused  target: 194 at [2] is not a row of a table of 100 rows",
        ),
        (
            &["--finite", "logits", "--finite", "pixels"],
            2,
            "fine     logits: finite\nrefused  pixels: NaN at [1] is not finite",
        ),
        (
            &call,
            2,
            "refused  loss.cross_entropy: label out of range: 195 at [3] of target (inp f32 [4, 195], target u32 [4])",
        ),
        (
            &["--labels", "y", "--classes", "2"],
            1,
            "has no tensor `y`; it has halves f16 [2], logits f32 [4, 195], pixels f32 [2], target u32 [4]",
        ),
        (
            &["--op", "tensor.norm", "--input", "x=halves"],
            0,
            "fine     tensor.norm: within its contract\nwarning  tensor.norm: candle 0.11.1 has a known bug here: norm of f16",
        ),
        (&["--op", "loss.nl", "--input", "inp=logits"], 1, "there is no op `loss.nl`; did you mean `loss.nll`?"),
        (&[], 1, "say what to check"),
    ] {
        let args: Vec<&str> = ["guard", file].into_iter().chain(args.iter().copied()).collect();
        let output = snuffer(&args);
        let text = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat();
        assert!(text.contains(message), "{args:?}: {text}");
        assert_eq!(output.status.code(), Some(code), "{args:?}: {text}");
    }
    let none = String::from_utf8(snuffer(&["guard", "Cargo.toml", "--finite", "x"]).stderr).expect("text");
    assert!(none.contains("Cargo.toml is not a safetensors file") && none.lines().count() == 1, "{none}");
}

#[test]
fn damaged_files_are_refused_or_read_right() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("batch.safetensors");
    let target = Tensor::new(&[0u32, 7, 194, 3], &CandleDevice::Cpu).expect("a tensor");
    candle_core::safetensors::save(&[("target", target)].into(), &file).expect("written");
    let whole = std::fs::read(&file).expect("readable");
    let mut rng = Pcg64Mcg::seed_from_u64(11);
    let mut random = |below: usize| rng.next_u32() as usize % below;
    let (mut read, mut bad) = (0, 0);
    let files = std::env::var("SNUFFER_MUTATIONS").map_or(20_000, |count| count.parse().expect("a number"));
    for _ in 0..files {
        let mut bytes = whole.clone();
        for _ in 0..=random(2) {
            let place = random(bytes.len());
            match random(4) {
                0 => bytes.truncate(place + 1),
                1 => drop(bytes.remove(place)),
                2 => bytes[place] ^= 1 << random(8),
                _ => bytes[place] = b"0123456789[]{},:\"FU\xff"[random(20)],
            }
            if bytes.is_empty() {
                break;
            }
        }
        std::fs::write(&file, &bytes).expect("written");
        let opened = guard::File::open(&file);
        let Ok(Ok(Some(target))) = opened.as_ref().map(|file| file.tensor("target")) else { continue };
        let Ok(labels) = target.flatten_all().and_then(|target| target.to_vec1::<u32>()) else { continue };
        let fine = labels.iter().all(|&label| label < 195);
        assert_eq!(guard::labels("target", &target, 195, None).is_ok(), fine, "{labels:?}");
        read += 1;
        bad += u32::from(!fine);
    }
    assert!(read > files / 50 && bad > files / 100, "only {read} are read, {bad} with a bad label");
}

/// The guard's answer to a case's call on the CPU.
fn guarded(op: &Op, case: &Case) -> Result<(), Refused> {
    let made: Vec<_> =
        case.inputs.iter().map(|(name, data)| (name, to_candle(data, &CandleDevice::Cpu).expect(name))).collect();
    let mut call = guard::Call::new(op.name).on(Device::Cpu);
    for (name, tensor) in &made {
        call = call.input(name, tensor);
    }
    for (name, param) in &case.params {
        call = call.param(name, param.clone());
    }
    call.check()
}

fn snuffer(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).output().expect("snuffer starts")
}
