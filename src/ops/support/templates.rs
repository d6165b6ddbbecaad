//! Templates that the sources of several ops include.

/// Templates that [`crate::ops::Op::source`] may include, by name.
pub const RUST_TEMPLATES: [(&str, &str); 18] = [
    ("window", "padding: {{ padding }}, stride: {{ stride }}, dilation: {{ dilation }}"),
    ("config", "{% include 'window' %}, groups: {{ groups }}, cudnn_fwd_algo: {% include 'algo' %}"),
    ("transpose", "{% include 'window' %}, output_padding: {{ output_padding }}"),
    (
        "algo",
        "{% set names = {'direct': 'Direct', 'gemm': 'Gemm', 'implicit gemm': 'ImplicitGemm'} %}\
         {{ 'Some(candle_core::conv::CudnnFwdAlgo::' ~ names[algo] ~ ')' if algo else 'None' }}",
    ),
    (
        "builder",
        r#"
        {% set weight = "kernel" if inputs.kernel else "weight" %}
        {% set bias = ', ("bias".to_string(), bias)' if inputs.bias else "" %}
        let tensors = std::collections::HashMap::from([("weight".to_string(), {{ weight }}){{ bias }}]);
        let vb = candle_nn::VarBuilder::from_tensors(tensors, {{ inputs[weight].dtype }}, &device);
    "#,
    ),
    (
        "reset",
        r"
        {% if reset == n and n > 0 %}
        cache.reset();
        {% endif %}
    ",
    ),
    (
        "ring",
        r#"
        let mut cache = candle_nn::kv_cache::RotatingKvCache::new({{ dim }}, {{ max }});
        {% include "appends" %}
        outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
    "#,
    ),
    (
        "scattered builder",
        r"
        let mut builder = candle_nn::kv_cache::ScatteredCacheBuilder::new(
            {{ rows }},
            {{ context }},
            {{ inputs.k0.dtype }},
            &device,
        )?;
    ",
    ),
    (
        "appends",
        r#"
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include "reset" %}
        let (k, v) = cache.append(&k{{ n }}, &v{{ n }})?;
        outputs.extend([k{{ copied }}, v{{ copied }}]);
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    ),
    (
        "rounds",
        r"
        let mut outputs{{ of_type|default('') }} = Vec::new();
        {% if rounds is defined %}
        for _ in 0..{{ rounds }} {
        outputs.clear();
        {% endif %}
    ",
    ),
    ("end of rounds", "{% if rounds is defined %}}{% endif %}"),
    (
        "ids of the active",
        r#"
        {% set length = inputs["k" ~ n].shape[2] %}
        {% set pause = pauses[n]|default(0) %}
        {% set active %}
        {%- for row in range(rows) %}{{ ", " if row else "" }}{{ pause // 2 ** row % 2 == 0 }}{% endfor %}
        {%- endset %}
        let active = [{{ active }}];
        let ids = builder.indices_and_mask({{ length }}, &active)?;
    "#,
    ),
    (
        "varlen",
        r#"
        let longest_q = seqlens_q.max(0)?.to_scalar::<u32>()? as usize;
        let longest_k = seqlens_k.max(0)?.to_scalar::<u32>()? as usize;
        candle_nn::attention::{{ function }}(
            &q{{ to_host }},
            &k{{ to_host }},
            &v{{ to_host }},
            {{ "Some(&alibi" ~ to_host ~ ")" if inputs.alibi else "None" }},
            &seqlens_q{{ to_host }},
            &seqlens_k{{ to_host }},
            longest_q,
            longest_k,
            {{ scale|f32 }},
            {{ causal != 0 }},
            {{ left|option }},
            {{ right|option }},
        )?
    "#,
    ),
    (
        "descent",
        r#"
        for step in 0..{{ inputs.grad.shape[0] }} {
            let loss = (theta.as_tensor() * grad.i(step)?)?.sum_all()?;
            {% if form == "step" %}
            optimizer.step(&loss.backward()?)?;
            {% else %}
            optimizer.backward_step(&loss)?;
            {% endif %}
        }
        theta.as_tensor().copy()?
    "#,
    ),
    (
        "quantized",
        r#"
        let dtype = candle_core::quantized::GgmlDType::{{ format }};
        {% set shape = experts ~ ", " ~ rows // experts if experts else rows %}
        {% if inputs.blocks.float %}
        {% if experts or rows != inputs.blocks.shape[0] %}
        let blocks = blocks.reshape(({{ shape }}, {{ inputs.blocks.shape[1] }}))?;
        {% endif %}
        let matrix = candle_core::quantized::QTensor::quantize(&blocks, dtype)?;
        {% else %}
        let bytes = blocks.to_device(&Device::Cpu)?.flatten_all()?.to_vec1::<u8>()?;
        let columns = bytes.len(){% if inputs.blocks.shape[0] != 1 %} / {{ inputs.blocks.shape[0] }}{% endif %} / dtype.type_size() * dtype.block_size();
        let storage = candle_core::quantized::QStorage::from_data(bytes.into(), &device, dtype)?;
        let matrix = candle_core::quantized::QTensor::new(storage, ({{ shape }}, columns))?;
        {% endif %}
    "#,
    ),
    (
        "unaligned",
        r"
        {% if unaligned %}
        let room = [vec![0; 1], bytes].concat(); // A vector begins at a multiple of 16, so that these bytes do not.
        let bytes = &room[1..];
        {% endif %}
    ",
    ),
    (
        "product",
        r#"
        use candle_core::backend::BackendStorage;
        use candle_core::{CpuStorage, CudaStorage, Layout, Shape};

        {% set count = {"one": 1, "two": 2, "three": 3}[arity] %}
        {% set y, of_y = ("y", "of_y") if count > 1 else ("x", "of_x") %}
        {% macro arguments(S) %}x: &{{ S }}, of_x: &Layout
        {%- if count > 1 %}, y: &{{ S }}, of_y: &Layout{% endif %}
        {%- if count > 2 %}, z: &{{ S }}, of_z: &Layout{% endif %}{% endmacro %}
        {% set passed = "x, of_x" ~ (", y, of_y" if count > 1 else "") ~ (", z, of_z" if count > 2 else "") %}
        {% set tensors = "x: &Tensor" ~ (", y: &Tensor" if count > 1 else "") ~ (", _: &Tensor" if count > 2 else "") %}
        fn product<S: BackendStorage>({{ arguments("S") }}) -> candle_core::Result<(S, Shape)> {
            let product = x.binary_impl::<candle_core::op::Mul>({{ y }}, of_x, {{ of_y }})?;
            {% if count > 2 %}
            let product = product.binary_impl::<candle_core::op::Add>(z, &Layout::contiguous(of_x.shape()), of_z)?;
            {% endif %}
            Ok((product, of_x.shape().clone()))
        }
        struct Product;
        impl candle_core::CustomOp{{ count }} for Product {
            fn name(&self) -> &'static str {
                "product"
            }
            {% for S in ["CpuStorage", "CudaStorage"] %}
            fn {{ S[:-7]|lower }}_fwd(&self, {{ arguments(S) }}) -> candle_core::Result<({{ S }}, Shape)> {
                product({{ passed }})
            }
            {% endfor %}
            {% set option = "Option<Tensor>" %}
            {% set gradients = [option, "(" ~ option ~ ", " ~ option ~ ")", "(" ~ option ~ ", " ~ option ~ ", " ~ option ~ ")"] %}
            fn bwd(&self, {{ tensors }}, _: &Tensor, grad: &Tensor) -> candle_core::Result<{{ gradients[count - 1] }}> {
                {% if count == 1 %}
                Ok(Some(((grad * x)? * 2.0)?))
                {% else %}
                Ok((Some((grad * y)?), Some((grad * x)?){{ ", None" if count > 2 else "" }}))
                {% endif %}
            }
        }
    "#,
    ),
    (
        "product in place",
        r#"
        use candle_core::backend::BackendStorage;
        use candle_core::{CpuStorage, CudaStorage, Layout};

        {% set count = {"one": 1, "two": 2, "three": 3}[arity] %}
        {% set y, of_y = ("y", "of_y") if count > 1 else ("x", "of_x") %}
        {% macro arguments(S) %}x: &mut {{ S }}, of_x: &Layout
        {%- if count > 1 %}, y: &{{ S }}, of_y: &Layout{% endif %}
        {%- if count > 2 %}, z: &{{ S }}, of_z: &Layout{% endif %}{% endmacro %}
        {% set passed = "x, of_x" ~ (", y, of_y" if count > 1 else "") ~ (", z, of_z" if count > 2 else "") %}
        fn product<S: BackendStorage>({{ arguments("S") }}) -> candle_core::Result<()> {
            let product = x.binary_impl::<candle_core::op::Mul>({{ y }}, of_x, {{ of_y }})?;
            {% if count > 2 %}
            let product = product.binary_impl::<candle_core::op::Add>(z, &Layout::contiguous(of_x.shape()), of_z)?;
            {% endif %}
            for place in 0..of_x.shape().elem_count() {
                let (mut rest, mut to) = (place, of_x.start_offset());
                for (size, stride) in of_x.dims().iter().zip(of_x.stride()).rev() {
                    to += rest % size * stride;
                    rest /= size;
                }
                product.copy2d(x, 1, 1, 1, 1, place, to)?;
            }
            Ok(())
        }
        struct Product;
        impl candle_core::InplaceOp{{ count }} for Product {
            fn name(&self) -> &'static str {
                "product"
            }
            {% for S in ["CpuStorage", "CudaStorage"] %}
            fn {{ S[:-7]|lower }}_fwd(&self, {{ arguments(S) }}) -> candle_core::Result<()> {
                product({{ passed }})
            }
            {% endfor %}
        }
    "#,
    ),
];

/// Templates that [`crate::ops::Op::torch`] may include, by name.
pub const TORCH_TEMPLATES: [(&str, &str); 5] = [
    (
        "window",
        "stride={{ stride }}, padding={{ padding }}, dilation={{ dilation }}, \
         groups={{ groups|default(1) }}",
    ),
    ("transpose", "{% include 'window' %}, output_padding={{ output_padding }}"),
    (
        "divided",
        r#"
        {%- set floats = (inputs.lhs or inputs.x).float -%}
        {%- set a, b = a|default("lhs"), b|default("rhs") -%}
        {{ a ~ " / " ~ b if floats else "torch.div(" ~ a ~ ", " ~ b ~ ", rounding_mode=\"trunc\")" }}
    "#,
    ),
    ("square of ones", "torch.ones({{ rows }}, {{ rows }}, dtype={{ dtype|dtype }})"),
    (
        "descent",
        r"
        for gradient in grad:
            optimizer.zero_grad()
            (theta * gradient).sum().backward()
            optimizer.step()
        theta.detach()
    ",
    ),
];
