//! A test for each model.

/// A test for each function of these modules, by this check.
macro_rules! models {
    ($($module:ident, $check:ident: $($model:ident)*;)*) => {$(
        mod $module {
            $(
                #[test]
                fn $model() -> candle_core::Result<()> {
                    models::$check(models::$module::$model)
                }
            )*
        }
    )*};
}

models! {
    encoders, check: bert clip distilbert marian modernbert t5 xlm_roberta;
    decoders, check: falcon gemma gemma2 llama mamba mistral mixtral olmo2 phi qwen2 qwen3 stable_lm starcoder2;
    vision, check: convnext dinov2 efficientnet resnet segformer segment_anything vit;
    audio, check: encodec snac whisper;
    convolutions, check: lines planes;
    diffusion, check: unet vae;
    quantized, check_quantized: llama_q4_0 llama_q4k llama_q8_0 mixture_q5k qwen2_q6k t5_q5_0;
}
