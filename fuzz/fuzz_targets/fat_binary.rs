//! The entries of a fat binary, from which the simulated driver takes PTX.
#![no_main]

use cuda::objects::image;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut image = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
    image.extend((bytes.len() as u64).to_le_bytes());
    image.extend(bytes);
    // SAFETY: the header says how long the entries are.
    let _ = unsafe { image::ptx(image.as_ptr().cast(), (9, 0)) };
});
