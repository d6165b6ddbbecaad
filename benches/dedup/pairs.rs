//! How well a rule says which failures have one cause, counted by pairs.

/// Pairs that a rule calls duplicates, pairs that are, and pairs that are both.
#[derive(Debug, Default, Clone, Copy)]
pub struct Pairs {
    called: usize,
    true_ones: usize,
    both: usize,
}

impl Pairs {
    /// All pairs of `items` that `counts` takes.
    pub fn of<T>(
        items: &[T],
        counts: impl Fn(&T, &T) -> bool,
        called: impl Fn(&T, &T) -> bool,
        truly: impl Fn(&T, &T) -> bool,
    ) -> Self {
        let mut pairs = Self::default();
        for (place, left) in items.iter().enumerate() {
            for right in items[place + 1..].iter().filter(|right| counts(left, right)) {
                let (called, truly) = (called(left, right), truly(left, right));
                pairs.called += usize::from(called);
                pairs.true_ones += usize::from(truly);
                pairs.both += usize::from(called && truly);
            }
        }
        pairs
    }

    /// Precision and recall, with the counts that they come from.
    pub fn row(self) -> String {
        let share = |of: usize| if of == 0 { "-".to_string() } else { format!("{:.3}", self.both as f64 / of as f64) };
        let Self { called, true_ones, both } = self;
        format!("{} ({both} of {called}) | {} ({both} of {true_ones})", share(called), share(true_ones))
    }
}
