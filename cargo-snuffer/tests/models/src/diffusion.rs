//! Stable Diffusion: one step of the U-Net with its scheduler, and the decoder that makes the image of a latent.

use candle_core::{Device, Result, Tensor};
use candle_transformers::models::stable_diffusion::{
    ddim::DDIMSchedulerConfig,
    schedulers::SchedulerConfig,
    unet_2d::{BlockConfig, UNet2DConditionModel, UNet2DConditionModelConfig},
    vae::{AutoEncoderKL, AutoEncoderKLConfig},
};

use crate::weights::{signal, weights};

pub fn unet(device: &Device) -> Result<Vec<Tensor>> {
    let block = |out_channels, use_cross_attn| BlockConfig { out_channels, use_cross_attn, attention_head_dim: 4 };
    let config = UNet2DConditionModelConfig {
        blocks: vec![block(32, Some(1)), block(64, Some(1)), block(64, None)],
        layers_per_block: 1,
        norm_num_groups: 8,
        cross_attention_dim: 48,
        ..Default::default()
    };
    let model = UNet2DConditionModel::new(weights(device), 4, 4, false, config)?;
    let mut scheduler = DDIMSchedulerConfig::default().build(20)?;
    let time = scheduler.timesteps()[10];
    let (picture, text) = (signal((1, 4, 16, 16), device)?, signal((1, 5, 48), device)?);
    let noise = model.forward(&scheduler.scale_model_input(picture.clone(), time)?, time as f64, &text)?;
    Ok(vec![scheduler.step(&noise, time, &picture)?, noise])
}

pub fn vae(device: &Device) -> Result<Vec<Tensor>> {
    let config = AutoEncoderKLConfig {
        block_out_channels: vec![16, 32],
        layers_per_block: 1,
        latent_channels: 4,
        norm_num_groups: 8,
        use_quant_conv: true,
        use_post_quant_conv: true,
    };
    let model = AutoEncoderKL::new(weights(device), 3, 3, config)?;
    Ok(vec![model.decode(&signal((1, 4, 12, 12), device)?)?])
}
