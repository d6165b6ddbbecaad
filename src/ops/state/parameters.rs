//! Named parameters: `VarBuilder` and `VarMap`.

use std::collections::HashMap;

use candle_core::{DType as Candle, Result, Tensor};
use candle_nn::{Init, VarBuilder, VarMap};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Backward, Case};
use crate::number::Num;
use crate::ops::support::arguments::ANY;
use crate::ops::support::dtypes::FLOATS;
use crate::ops::support::elements::elementwise::{case, of_floats};
use crate::ops::{Call, Contract, Op};
use crate::tensor::DType;

/// `x` as the parameter `a.b.x`: from a `VarBuilder` of tensors, from a `VarMap` into which it is set, and from another that loads
/// the file of the first. Then whether each wrong name or shape is an `Err`, and whether names, dtypes and devices are kept.
pub static PARAMETERS: Op = Op {
    name: "state.parameters",
    covers: &[
        "VarBuilderArgs",
        "VarBuilder::from_tensors",
        "VarBuilder::from_varmap",
        "VarBuilder::from_backend",
        "VarBuilder::zeros",
        "VarBuilder::rename_f",
        "VarBuilderArgs::pp",
        "VarBuilderArgs::push_prefix",
        "VarBuilderArgs::set_prefix",
        "VarBuilderArgs::prefix",
        "VarBuilderArgs::root",
        "VarBuilderArgs::get",
        "VarBuilderArgs::get_with_hints",
        "VarBuilderArgs::get_with_hints_dtype",
        "VarBuilderArgs::get_unchecked",
        "VarBuilderArgs::get_unchecked_dtype",
        "VarBuilderArgs::contains_tensor",
        "VarBuilderArgs::device",
        "VarBuilderArgs::dtype",
        "VarBuilderArgs::to_dtype",
        "VarMap::all_vars",
        "VarMap::load",
        "VarMap::save",
        "VarMap::set",
        "VarMap::set_one",
    ],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| Ok(Case { backward: Backward::None, ..case(draw, FLOATS)? }),
    contract: &|case| match of_floats(case) {
        Contract::Rejects(_) => Contract::Unspecified("parameters of integers"),
        Contract::Accepts { outputs, refusal } => {
            let outputs = [vec![outputs[0].clone(); 4], vec![(DType::U8, vec![10])]].concat();
            Contract::Accepts { outputs, refusal }
        }
        unspecified @ Contract::Unspecified(_) => unspecified,
    },
    call: &|call| {
        let path = std::env::temp_dir().join(format!("snuffer-parameters-{}", std::process::id()));
        let outputs = parameters(call, &path);
        // A call that is refused may have made no file.
        let _ = std::fs::remove_file(&path);
        outputs
    },
    source: r#"
        use candle_nn::{Init, VarBuilder, VarMap};
        let (shape, dtype, name) = (x.shape().clone(), x.dtype(), "a.b.x".to_string());
        let wrong = [x.dims(), &[2]].concat();
        let tensors = std::collections::HashMap::from([(name, x.clone())]);
        let vb = VarBuilder::from_tensors(tensors.clone(), dtype, &device);
        let own = vb.pp("a").push_prefix("b");
        let (mut map, mut loaded) = (VarMap::new(), VarMap::new());
        for map in [&map, &loaded] {
            VarBuilder::from_varmap(map, dtype, &device).get_with_hints(shape.clone(), "a.b.x", Init::Const(0.0))?;
        }
        map.set_one("a.b.x", &x)?;
        let path = std::env::temp_dir().join(format!("parameters-{}", std::process::id()));
        map.save(&path)?;
        loaded.load(&path)?;
        std::fs::remove_file(&path)?;
        let read = |map: &VarMap| map.all_vars()[0].as_detached_tensor();
        let backend = VarBuilder::from_backend(Box::new(tensors), DType::F64, device.clone());
        let facts = [
            own.get(wrong.clone(), "x").is_err(),
            own.get(shape.clone(), "y").is_err(),
            VarBuilder::from_varmap(&map, dtype, &device).get(wrong, "a.b.x").is_err(),
            map.set_one("a.b.y", &x).is_err(),
            map.set([("a.b.x", &x)].into_iter()).is_ok(),
            own.contains_tensor("x") && !own.contains_tensor("y"),
            own.prefix() == "a.b" && own.root().prefix().is_empty() && own.set_prefix("c").prefix() == "c",
            own.dtype() == dtype && own.device().same_device(&device),
            own.to_dtype(DType::F64).get_unchecked("x")?.dtype() == DType::F64
                && backend.get_unchecked("a.b.x")?.dtype() == DType::F64,
            VarBuilder::zeros(dtype, &device).get(shape.clone(), "any")?.shape() == &shape,
        ];
        let renamed = vb.rename_f(|name| name.replace("z", "x"));
        let outputs = [
            own.get(shape.clone(), "x")?,
            renamed.get_with_hints_dtype(shape, "a.b.z", Init::Const(0.0), dtype)?,
            read(&map),
            read(&loaded),
            Tensor::new(&facts.map(u8::from), &device)?,
        ];
    "#,
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let facts = ArrayD::from_elem(IxDyn(&[10]), Num::exact(1.0));
        [vec![inputs.array("x"); 4], vec![facts]].concat()
    }),
    ulps: 1.0,
    differentiable: &[],
    promise: "candle-nn/src/var_builder.rs:52-260 (the documentation of each; \"shape mismatch for\"), \
              var_map.rs:19-115; torch.nn.Module.load_state_dict rejects other shapes and missing names",
};

fn parameters(call: &Call, path: &std::path::Path) -> Result<Vec<Tensor>> {
    let (x, device) = (call.tensor("x")?, call.device);
    let (shape, dtype) = (x.shape().clone(), x.dtype());
    let wrong = [x.dims(), &[2]].concat();
    let tensors = HashMap::from([("a.b.x".to_string(), x.clone())]);
    let vb = VarBuilder::from_tensors(tensors.clone(), dtype, device);
    let own = vb.pp("a").push_prefix("b");
    let (mut map, mut loaded) = (VarMap::new(), VarMap::new());
    for map in [&map, &loaded] {
        VarBuilder::from_varmap(map, dtype, device).get_with_hints(shape.clone(), "a.b.x", Init::Const(0.0))?;
    }
    map.set_one("a.b.x", x)?;
    map.save(path)?;
    loaded.load(path)?;
    let read = |map: &VarMap| map.all_vars()[0].as_detached_tensor();
    let backend = VarBuilder::from_backend(Box::new(tensors), Candle::F64, device.clone());
    let facts = [
        own.get(wrong.clone(), "x").is_err(),
        own.get(shape.clone(), "y").is_err(),
        VarBuilder::from_varmap(&map, dtype, device).get(wrong, "a.b.x").is_err(),
        map.set_one("a.b.y", x).is_err(),
        map.set([("a.b.x", x)].into_iter()).is_ok(),
        own.contains_tensor("x") && !own.contains_tensor("y"),
        own.prefix() == "a.b" && own.root().prefix().is_empty() && own.set_prefix("c").prefix() == "c",
        own.dtype() == dtype && own.device().same_device(device),
        own.to_dtype(Candle::F64).get_unchecked("x")?.dtype() == Candle::F64
            && backend.get_unchecked_dtype("a.b.x", Candle::F64)?.dtype() == Candle::F64,
        VarBuilder::zeros(dtype, device).get(shape.clone(), "any")?.shape() == &shape,
    ];
    let renamed = vb.rename_f(|name| name.replace('z', "x"));
    Ok(vec![
        own.get(shape.clone(), "x")?,
        renamed.get_with_hints_dtype(shape, "a.b.z", Init::Const(0.0), dtype)?,
        read(&map),
        read(&loaded),
        Tensor::new(&facts.map(u8::from), device)?,
    ])
}
