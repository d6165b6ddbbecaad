//! Matrices that are spread over the lanes of a warp: every form, compared with loops over rows and columns of integers.

mod documented;
mod found;
mod mma;
mod product;
mod rows;
mod wmma;

use std::collections::BTreeSet;

use crate::machine::table;
use crate::types::Random;

/// Whether these tests execute a form.
pub fn covers(name: &str) -> bool {
    ["mma.", "wmma.", "ldmatrix.", "stmatrix.", "movmatrix."].iter().any(|start| name.starts_with(start))
}

fn forms(start: &str) -> Vec<String> {
    table().into_iter().filter(|name| name.starts_with(start)).collect()
}

#[test]
fn products_of_documented_fragments_are_those_of_the_matrices() {
    let (forms, mut random) = (forms("mma."), Random(11));
    assert!(forms.len() >= 80, "only {} forms", forms.len());
    for form in &forms {
        (0..3).for_each(|_| mma::check(form, &mut random));
    }
}

#[test]
fn products_of_matrices_in_memory_are_those_of_their_elements() {
    let (forms, mut random, mut executed) = (forms("wmma.mma."), Random(12), BTreeSet::new());
    assert!(forms.len() >= 100, "only {} forms", forms.len());
    for form in &forms {
        // Every space, and both layouts of `c` and `d`.
        (0..20).for_each(|choice| wmma::check(form, choice, &mut random, &mut executed));
    }
    let accesses = ["wmma.load.", "wmma.store."].into_iter().flat_map(self::forms);
    assert_eq!(accesses.collect::<BTreeSet<String>>(), executed);
}

#[test]
fn rows_and_transposed_rows_are_where_they_are_documented() {
    let mut random = Random(13);
    for form in ["ldmatrix.", "stmatrix."].into_iter().flat_map(forms) {
        (0..4).for_each(|_| rows::check(&form, &mut random));
        // Assemblers also take the shape behind the number of matrices, and behind `.trans`.
        let (before, after) = form.split_once(".m8n8").expect("their only shape");
        let modifiers = if after.contains(".trans") { 9 } else { 3 };
        let (modifiers, after) = after.split_at(modifiers);
        rows::check(&format!("{before}{modifiers}.m8n8{after}"), &mut random);
    }
    for form in forms("movmatrix.") {
        rows::check_transpose(&form, &mut random);
    }
}
