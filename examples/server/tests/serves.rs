//! Several threads answer as one does.

use candle_core::{Device, Result};
use server::{Model, TOKENS, serve};

#[test]
fn four_threads_answer_as_one_does() -> Result<()> {
    let model = Model::new(&Device::cuda_if_available(0)?)?;
    let request = |number: u32| (0..=number % 5).map(|place| (7 * number + place) % TOKENS as u32).collect();
    let requests: Vec<Vec<u32>> = (0..24).map(request).collect();
    let alone = serve(&model, &requests, 1)?;
    assert_eq!(serve(&model, &requests, 4)?, alone);
    Ok(())
}
