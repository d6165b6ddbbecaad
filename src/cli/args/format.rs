//! The options `--format` and `--json`: how a command prints what it has.

/// How a command prints. `--json` is short for `--format json`.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct FormatArg {
    /// The format.
    #[arg(long, value_enum, default_value_t = Format::Text, conflicts_with = "json")]
    format: Format,
    /// Print JSON: short for `--format json`.
    #[arg(long)]
    json: bool,
}

/// The formats of what is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// Lines for a terminal.
    Text,
    /// Markdown, such as for the summary of a CI job.
    Markdown,
    /// JSON.
    Json,
}

impl FormatArg {
    /// The format that was chosen.
    pub const fn format(self) -> Format {
        if self.json { Format::Json } else { self.format }
    }
}
