//! The labels of a body, and the lists of labels, by the braces that they are in.

use std::collections::HashMap;

use crate::ptx::Statement;

/// One pair of braces.
#[derive(Default)]
struct Scope<'a> {
    labels: HashMap<&'a str, u32>,
    targets: HashMap<&'a str, Vec<&'a str>>,
}

/// The labels of all scopes of a body, in the order in which these begin.
pub(super) struct Labels<'a> {
    scopes: Vec<Scope<'a>>,
    /// The numbers of those that are open.
    open: Vec<usize>,
    opened: usize,
}

impl<'a> Labels<'a> {
    /// The labels of these statements; `label` makes a new one.
    pub fn of(statements: &[Statement<'a>], mut label: impl FnMut() -> u32) -> Self {
        let mut scopes = vec![Scope::default()];
        let mut open = vec![0];
        for statement in statements {
            let last = open.last().copied().unwrap_or_default();
            match statement {
                Statement::Open => {
                    open.push(scopes.len());
                    scopes.push(Scope::default());
                }
                Statement::Close => {
                    open.pop();
                }
                Statement::Label(name) => {
                    scopes[last].labels.entry(name).or_insert_with(&mut label);
                }
                Statement::Targets(name, targets) => {
                    scopes[last].targets.insert(name, targets.clone());
                }
                _ => {}
            }
        }
        Self { scopes, open: vec![0], opened: 0 }
    }

    /// Goes into the next scope.
    pub fn open(&mut self) {
        self.opened += 1;
        self.open.push(self.opened);
    }

    /// Leaves a scope.
    pub fn close(&mut self) {
        self.open.pop();
    }

    /// The number of the present scope.
    pub fn scope(&self) -> usize {
        self.open.last().copied().unwrap_or_default()
    }

    /// The label of this name that is nearest.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.open.iter().rev().find_map(|&scope| self.scopes[scope].labels.get(name)).copied()
    }

    /// The list of labels of this name that is nearest.
    pub fn targets(&self, name: &str) -> Option<Vec<&'a str>> {
        self.open.iter().rev().find_map(|&scope| self.scopes[scope].targets.get(name)).cloned()
    }
}
