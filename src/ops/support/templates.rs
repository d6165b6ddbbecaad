//! Templates that the sources of several ops include.

/// Templates that [`crate::ops::Op::source`] may include, by name.
pub const RUST_TEMPLATES: [(&str, &str); 8] = [
    (
        "window",
        "padding: {{ padding|default(0) }}, stride: {{ stride|default(1) }}, dilation: {{ dilation|default(1) }}",
    ),
    ("config", "{% include 'window' %}, groups: {{ groups|default(1) }}, cudnn_fwd_algo: {% include 'algo' %}"),
    ("transpose", "{% include 'window' %}, output_padding: {{ output_padding|default(0) }}"),
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
        "appends",
        r#"
        let mut outputs = Vec::new();
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% if reset == n and n > 0 %}
        cache.reset();
        {% endif %}
        let (k, v) = cache.append(&k{{ n }}, &v{{ n }})?;
        outputs.extend([k{{ copied }}, v{{ copied }}]);
        {% endfor %}
    "#,
    ),
    (
        "ids of the active",
        r#"
        {% set length = inputs["k" ~ n].shape[2] %}
        {% set pause = (pauses|default([]))[n]|default(0) %}
        {% set active %}
        {%- for row in range(rows) %}{{ ", " if row else "" }}{{ pause // 2 ** row % 2 == 0 }}{% endfor %}
        {%- endset %}
        let active = [{{ active }}];
        let ids = builder.indices_and_mask({{ length }}, &active)?;
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
];

/// Templates that [`crate::ops::Op::torch`] may include, by name.
pub const TORCH_TEMPLATES: [(&str, &str); 5] = [
    (
        "window",
        "stride={{ stride|default(1) }}, padding={{ padding|default(0) }}, dilation={{ dilation|default(1) }}, \
         groups={{ groups|default(1) }}",
    ),
    ("transpose", "{% include 'window' %}, output_padding={{ output_padding|default(0) }}"),
    (
        "divided",
        r#"
        {%- set floats = (inputs.lhs or inputs.x).float -%}
        {%- set a, b = a|default("lhs"), b|default("rhs") -%}
        {{ a ~ " / " ~ b if floats else "torch.div(" ~ a ~ ", " ~ b ~ ", rounding_mode=\"trunc\")" }}
    "#,
    ),
    ("square of ones", "torch.ones({{ rows|default(0) }}, {{ rows|default(0) }}, dtype={{ dtype|dtype }})"),
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
