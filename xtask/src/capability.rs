//! Workers for another compute capability.

use std::process::Command;

use crate::shell::target;

/// A compute capability, such as 7.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    major: u32,
    minor: u32,
}

impl Capability {
    /// That of [`COMPUTE_CAP`], whose worker is always built.
    pub const USUAL: Self = Self { major: 9, minor: 0 };

    /// Makes `cargo` build for this capability, in a target folder of its own: candle's kernels and all above them are others.
    /// `snuffer` looks there if `SNUFFER_SIM_CAPABILITY` says so.
    pub fn choose(self, cargo: &mut Command) -> anyhow::Result<()> {
        let folder = target()?.join("capability").join(self.to_string());
        cargo.env("CUDA_COMPUTE_CAP", format!("{}{}", self.major, self.minor)).arg("--target-dir").arg(folder);
        Ok(())
    }
}

impl std::str::FromStr for Capability {
    type Err = String;
    /// `7.5`, or as in `CUDA_COMPUTE_CAP`, `75`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (major, minor) =
            text.split_once('.').or_else(|| text.split_at_checked(text.len().checked_sub(1)?)).unwrap_or_default();
        let number = |digits: &str| digits.parse::<u32>().ok();
        match (number(major), number(minor)) {
            (Some(major @ 5..100), Some(minor @ 0..10)) => Ok(Self { major, minor }),
            _ => Err(format!("`{text}` is not a compute capability; write one like 7.5")),
        }
    }
}

impl std::fmt::Display for Capability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::Capability;

    #[test]
    fn a_capability_has_two_forms() {
        for (text, shown) in
            [("7.5", Some("7.5")), ("75", Some("7.5")), ("120", Some("12.0")), ("7", None), ("é", None)]
        {
            assert_eq!(text.parse::<Capability>().ok().map(|it| it.to_string()).as_deref(), shown, "{text}");
        }
    }
}
