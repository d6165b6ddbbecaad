//! How much processor time is the devices', in the file that a variable names.

use crate::{INVALID_ADDRESS_TEST, said_in_with};

#[test]
fn a_product_takes_time_of_the_device_and_ends() {
    let path = std::env::temp_dir().join(format!("snuffer-device-time-{}", std::process::id()));
    said_in_with(INVALID_ADDRESS_TEST, "SNUFFER_SIM_TIME", &path);
    let bytes = std::fs::read(&path).expect("the file is made");
    std::fs::remove_file(&path).expect("it can be removed");
    let number = u64::from_ne_bytes(bytes.try_into().expect("8 bytes"));
    assert!(number > 0 && number.is_multiple_of(2), "{number}: work took time, and has ended");
}
