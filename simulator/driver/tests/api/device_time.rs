//! How much processor time is the devices', in the file that a variable names.

use crate::{INVALID_ADDRESS_TEST, said_in_with};

#[test]
fn a_product_takes_time_of_the_device_and_ends() {
    let path = std::env::temp_dir().join(format!("snuffer-device-time-{}", std::process::id()));
    said_in_with(INVALID_ADDRESS_TEST, "SNUFFER_SIM_TIME", &path);
    let bytes = std::fs::read(&path).expect("the file is made");
    std::fs::remove_file(&path).expect("it can be removed");
    let (numbers, rest) = bytes.as_chunks::<8>();
    let [spent, began] = numbers else { panic!("{bytes:?}") };
    assert!(u64::from_le_bytes(*spent) > 0 && u64::from_le_bytes(*began) == 0 && rest.is_empty(), "{bytes:?}");
}
