//! Measures, over pairs of failures, how well a rule finds those with the same cause.

/// Counts pairs that a rule calls duplicates, pairs that are duplicates, and pairs that are both.
#[derive(Debug, Default, Clone, Copy)]
pub struct Pairs {
    called: usize,
    true_ones: usize,
    both: usize,
}

impl Pairs {
    /// Counts the pairs of `items` that `counts` accepts.
    pub fn of<T>(
        items: &[T],
        counts: impl Fn(&T, &T) -> bool,
        called: impl Fn(&T, &T) -> bool,
        truly: impl Fn(&T, &T) -> bool,
    ) -> Self {
        let mut pairs = Self::default();
        for (index, left) in items.iter().enumerate() {
            for right in items[index + 1..].iter().filter(|right| counts(left, right)) {
                let (called, truly) = (called(left, right), truly(left, right));
                pairs.called += usize::from(called);
                pairs.true_ones += usize::from(truly);
                pairs.both += usize::from(called && truly);
            }
        }
        pairs
    }

    /// Precision and recall, with their counts.
    pub fn row(self) -> String {
        let share = |of: usize| if of == 0 { "-".to_string() } else { format!("{:.3}", self.both as f64 / of as f64) };
        let Self { called, true_ones, both } = self;
        format!("{} ({both} of {called}) | {} ({both} of {true_ones})", share(called), share(true_ones))
    }
}
