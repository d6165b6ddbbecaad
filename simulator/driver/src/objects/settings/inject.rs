//! Injected failures: a call of the program returns an error and does nothing, so that error paths are run.

use std::str::FromStr;

use crate::objects::codes::{Code, OUT_OF_MEMORY};
use crate::objects::error_names::{CODES, name};
use crate::objects::reports::report;

/// `cudaErrorUnknown` and `CUDA_ERROR_UNKNOWN`: the default code.
const UNKNOWN: Code = 999;

/// A failure to inject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The CUDA function, or `allocation` for all that allocate on a device.
    function: String,
    when: When,
    /// What the call returns.
    pub(crate) code: Code,
    calls: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// The call with this number, from 1.
    Once(u64),
    /// Each call whose number is a multiple of this.
    Every(u64),
}

impl FromStr for Injection {
    type Err = String;

    /// `allocation:3`, `allocation:%7`, `cuLaunchKernel:1:719`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "must be FUNCTION:N or FUNCTION:%N, with N from 1, and optionally :CODE".to_string();
        let mut parts = text.splitn(3, ':');
        let function = parts.next().unwrap_or_default().to_string();
        // The other libraries have their own error codes, and a program may take any number for one of them.
        if ["cublas", "curand"].iter().any(|library| function.starts_with(library)) {
            return Err("only functions of the driver and of the runtime can be made to fail".to_string());
        }
        if function != "allocation" && !is_function(&function) {
            return Err(wrong());
        }
        let when = parts.next().ok_or_else(wrong)?;
        let number = |text: &str| text.parse().ok().filter(|number| *number > 0).ok_or_else(wrong);
        let when = match when.strip_prefix('%') {
            Some(period) => When::Every(number(period)?),
            None => When::Once(number(when)?),
        };
        let usual = if function == "allocation" { OUT_OF_MEMORY } else { UNKNOWN };
        let known = |code: &Code| *code > 0 && CODES.iter().any(|(known, ..)| known == code);
        let code = parts.next().map_or(Some(usual), |code| code.parse().ok().filter(known)).ok_or_else(wrong)?;
        Ok(Self { function, when, code, calls: 0 })
    }
}

impl Injection {
    /// Counts a call of `function`; whether it must fail. A failure is also printed.
    pub(crate) fn fails(&mut self, function: &str) -> bool {
        let allocates = || (function.contains("Alloc") || function.contains("Malloc")) && !function.contains("Host");
        if self.function != function && !(self.function == "allocation" && allocates()) {
            return false;
        }
        self.calls += 1;
        let fails = match self.when {
            When::Once(number) => self.calls == number,
            When::Every(period) => self.calls.is_multiple_of(period),
        };
        if fails {
            report::injected(function, &name(self.code));
        }
        fails
    }
}

/// Whether this is the name of a CUDA function, such as `cuInit` or `cudaMalloc`.
fn is_function(name: &str) -> bool {
    name.starts_with("cu") && name.contains(|c: char| c.is_ascii_uppercase())
}

#[cfg(test)]
mod tests {
    use super::{Injection, OUT_OF_MEMORY, UNKNOWN};

    /// Which of ten calls of `function` fail, and how.
    fn struck(text: &str, function: &str) -> (Vec<u64>, u32) {
        let mut injection: Injection = text.parse().expect(text);
        ((1..=10).filter(|_| injection.fails(function)).collect(), injection.code)
    }

    #[test]
    fn the_call_of_a_number_or_of_each_multiple_fails() {
        assert_eq!(struck("allocation:3", "cuMemAllocAsync"), (vec![3], OUT_OF_MEMORY));
        assert_eq!(struck("allocation:%4", "cudaMalloc"), (vec![4, 8], OUT_OF_MEMORY));
        assert_eq!(struck("cuLaunchKernel:1:719", "cuLaunchKernel"), (vec![1], 719));
        assert_eq!(struck("cuLaunchKernel:1", "cuLaunchKernel").1, UNKNOWN);
        assert_eq!(struck("cuLaunchKernel:%1", "cuMemAllocAsync").0, Vec::<u64>::new());
        assert_eq!(struck("allocation:%1", "cuMemAllocHost_v2").0, Vec::<u64>::new());
    }

    #[test]
    fn malformed_injections_are_refused() {
        for text in [
            "",
            "allocation",
            "allocation:0",
            "allocation:%0",
            "allocation:x",
            ":3",
            "cuInit:1:",
            "cuInit:1:0",
            "cuInit:1:33",
            "cublasCreate_v2:1",
            "cuda:1",
        ] {
            assert!(text.parse::<Injection>().is_err(), "{text}");
        }
    }
}
