//! The integration tests that need no CUDA device: one binary with a file for each area. Others are in `tests/devices`.

mod answers;
mod arguments;
mod avoid;
mod bounds;
mod by_hand;
mod candles;
mod capability;
mod case_text;
mod catalog;
mod causes;
mod changes;
mod circles;
mod cli;
mod compare;
mod console;
mod coverage;
mod damage;
mod detectors;
mod diagnosis;
mod doctor;
mod documented;
mod extremes;
mod face;
mod fatal;
mod fence;
#[path = "../common/finding.rs"]
mod finding;
mod fixes;
mod fleet;
mod fuzz;
mod guard;
mod history;
mod history_file;
mod hostile;
mod interrupts;
mod inventory;
#[path = "../common/json.rs"]
mod json;
mod judge;
#[path = "../common/kept.rs"]
mod kept;
mod lifecycle;
mod limits;
mod links;
mod lists;
mod minimizer;
mod moved;
#[path = "../common/mutate.rs"]
#[allow(dead_code, reason = "`cargo xtask attack` uses the rest")]
mod mutate;
mod number;
mod ops;
#[path = "../common/output.rs"]
mod output;
mod own_commands;
mod own_ops;
#[path = "../common/place.rs"]
mod place;
mod predicates;
mod promises;
mod reasons;
mod regressions;
mod report;
mod reports;
mod resume;
mod rungs;
mod sanitizer_text;
mod scenarios;
mod schema;
mod score;
mod sequences;
mod shapes;
mod shared;
mod signatures;
mod site;
mod site_causes;
mod site_command;
mod site_search;
mod spelling;
mod starting;
mod store;
mod summary;
mod tensor;
mod texts;
mod tidy;
mod torch;
mod triage;
mod vast;
mod verdicts;
mod worker;
