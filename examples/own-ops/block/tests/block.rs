//! A module from a `VarBuilder`: its weights are inputs, under the names that it asks for.

use block::Block;
use candle_nn::Module;

#[test]
fn the_block_is_the_same_on_all_devices() {
    snuffer::check(
        snuffer::define("block")
            .size("heads", [1, 2])
            .floats_within("x", "batch tokens heads*4", -2.0, 2.0)
            .floats_within("qkv.weight", "heads*12 heads*4", -1.0, 1.0)
            .floats_within("out.weight", "heads*4 heads*4", -1.0, 1.0)
            .floats_within("wide.weight", "heads*8 heads*4", -1.0, 1.0)
            .floats_within("wide.bias", "heads*8", -1.0, 1.0)
            .floats_within("narrow.weight", "heads*4 heads*8", -1.0, 1.0)
            .floats_within("narrow.bias", "heads*4", -1.0, 1.0)
            .output("batch tokens heads*4")
            .call(|args| {
                let heads = args.size("heads");
                Block::new(4 * heads, heads, args.weights())?.forward(args.tensor("x")?)
            }),
    );
}
