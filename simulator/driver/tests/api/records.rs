//! Reports as records, in the file that a variable names.

use crate::{INVALID_ADDRESS_TEST, said_in_with};
use serde_json::Value;

#[test]
fn each_report_is_a_record_in_the_file_and_text_for_people() {
    let path = std::env::temp_dir().join(format!("snuffer-records-{}", std::process::id()));
    let said = said_in_with(INVALID_ADDRESS_TEST, "SNUFFER_SIM_REPORTS", &path);
    let text = std::fs::read_to_string(&path).expect("the file is made");
    std::fs::remove_file(&path).expect("it can be removed");
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let [record] = &records[..] else { panic!("{text}") };
    assert_eq!(record["severity"], "fault");
    assert_eq!(record["kind"], "out of bounds");
    assert_eq!(record["kernel"], "cublasGemmStridedBatchedEx");
    assert_eq!(record["address"], 0x4000_0180_0000_000c_u64);
    // The printed lines, without their marks.
    let lines: Vec<&str> = said.lines().map(|line| line.trim_start_matches('=').trim()).collect();
    assert_eq!(record["message"], lines.join("; "));
}
