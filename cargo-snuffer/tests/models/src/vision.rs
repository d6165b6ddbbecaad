//! Models that look at an image.

use candle_core::{Device, Module, Result, Tensor};
use candle_nn::Activation;
use candle_transformers::models::segment_anything::{
    image_encoder::ImageEncoderViT, mask_decoder::MaskDecoder, prompt_encoder::PromptEncoder,
};
use candle_transformers::models::{convnext, dinov2, efficientnet, resnet, segformer, vit};
use serde_json::json;

use crate::weights::{signal, weights};

const CLASSES: usize = 10;

fn seen(model: &impl Module, size: usize, device: &Device) -> Result<Vec<Tensor>> {
    Ok(vec![model.forward(&signal((1, 3, size, size), device)?)?])
}

pub fn vit(device: &Device) -> Result<Vec<Tensor>> {
    let config = vit::Config {
        hidden_size: 64,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        intermediate_size: 96,
        image_size: 32,
        patch_size: 8,
        ..vit::Config::vit_base_patch16_224()
    };
    let model = vit::Model::new(&config, CLASSES, weights(device))?;
    Ok(vec![model.forward(&signal((1, 3, 32, 32), device)?)?])
}

/// The image is smaller than those that the positions were made for, so the model shrinks the grid of positions.
pub fn dinov2(device: &Device) -> Result<Vec<Tensor>> {
    seen(&dinov2::DinoVisionTransformer::new(weights(device), 2, 48, 4)?, 56, device)
}

pub fn resnet(device: &Device) -> Result<Vec<Tensor>> {
    seen(&resnet::resnet18(CLASSES, weights(device))?, 64, device)
}

pub fn convnext(device: &Device) -> Result<Vec<Tensor>> {
    seen(&convnext::convnext(&convnext::Config::atto(), CLASSES, weights(device))?, 64, device)
}

pub fn efficientnet(device: &Device) -> Result<Vec<Tensor>> {
    let mut blocks = efficientnet::MBConvConfig::b0();
    blocks.truncate(4);
    seen(&efficientnet::EfficientNet::new(weights(device), blocks, CLASSES)?, 48, device)
}

pub fn segformer(device: &Device) -> Result<Vec<Tensor>> {
    let config: segformer::Config = serde_json::from_value(json!({
        "num_channels": 3,
        "num_encoder_blocks": 4,
        "depths": [1, 1, 1, 1],
        "sr_ratios": [8, 4, 2, 1],
        "hidden_sizes": [16, 32, 48, 64],
        "patch_sizes": [7, 3, 3, 3],
        "strides": [4, 2, 2, 2],
        "num_attention_heads": [1, 2, 4, 8],
        "mlp_ratios": [2, 2, 2, 2],
        "hidden_act": Activation::Gelu,
        "layer_norm_eps": 1e-6,
        "decoder_hidden_size": 32,
    }))
    .expect("the fields of the model");
    seen(&segformer::SemanticSegmentationModel::new(&config, CLASSES, weights(device))?, 64, device)
}

/// The masks of what is at two points of an image. `Sam` itself looks at 1024 pixels in each direction only.
pub fn segment_anything(device: &Device) -> Result<Vec<Tensor>> {
    let (size, patch, width) = (64, 16, 32);
    let (grid, weights) = (size / patch, weights(device));
    // The first layer attends within windows of 3 by 3 patches, the second to all of them.
    let encoder =
        ImageEncoderViT::new(size, patch, 3, 48, 2, 4, width, true, true, true, 3, &[1], weights.pp("image_encoder"))?;
    let prompts = PromptEncoder::new(width, (grid, grid), (size, size), 16, weights.pp("prompt_encoder"))?;
    let decoder = MaskDecoder::new(width, 3, 3, width, weights.pp("mask_decoder"))?;

    let image = encoder.forward(&signal((1, 3, size, size), device)?)?;
    let points = Tensor::new(&[[[20f32, 30.], [50., 9.]]], device)?;
    // The first point is inside, the second outside.
    let labels = Tensor::new(&[[1f32, 0.]], device)?;
    let (sparse, dense) = prompts.forward(Some((&points, &labels)), None, None)?;
    let (masks, scores) = decoder.forward(&image, &prompts.get_dense_pe()?, &sparse, &dense, true)?;
    Ok(vec![image, masks, scores])
}
