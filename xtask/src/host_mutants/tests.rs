//! A small source with all changes woven in, and who is blamed for errors in it.

use std::fmt::Write as _;

use super::find::sites;
use super::site::Site;
use super::weave::{Woven, weave};

/// Our own code, with a place for most changes.
const SOURCE: &str = "
const LIMIT: usize = 4;
const fn twice(n: usize) -> usize { n * 2 }

impl Layout {
    fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        if start + len > self.dims[dim] || dim == 0 {
            bail!(\"out of range\")
        }
        for i in 0..len {
            // The first one is special.
            offset += i * self.stride[dim];
        }
        match self.dtype {
            DType::F32 if !self.flat => self.clone().sqr()?.add(dim, start),
            DType::U8 => new(self.dims[1], DType::F64, true),
            _ => vec![-0.5, LIMIT],
        }
    }
}

fn grow(sum_grad: &mut Tensor) -> Result<()> {
    *sum_grad = sum_grad.clone();
    Ok(())
}

bin_op!(Add, add, |a, b| a + b);

#[cfg(test)]
mod tests {
    fn is_left() -> bool { 1 < 2 }
}
";

fn woven(sites: &[Site]) -> Woven {
    weave(SOURCE, &sites.iter().collect::<Vec<_>>(), 10, "on")
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({ snapshot_path => "../../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!(name, text);
    });
}

#[test]
fn every_change_stands_behind_its_switch_and_lines_stay() {
    let sites = sites(SOURCE).expect("valid code");
    let text = woven(&sites).text;
    assert_eq!(text.lines().count(), SOURCE.lines().count());
    syn::parse_file(&text).expect("still valid code");
    snapshot("host_mutants_woven", &text);
}

#[test]
fn a_change_is_listed_with_its_place_and_the_code_before_and_after() {
    let mut list = String::new();
    for (number, site) in (10..).zip(&sites(SOURCE).expect("valid code")) {
        let before = site.before(SOURCE);
        let Site { change, function, line, form, .. } = site;
        writeln!(list, "{number} {function}:{line} {change}: {before} -> {}", form.changed(&before)).expect("memory");
    }
    snapshot("host_mutants_listed", &list);
}

#[test]
fn an_error_is_blamed_on_the_change_that_wrote_the_code_else_on_the_innermost_around_it() {
    let sites = sites(SOURCE).expect("valid code");
    let woven = woven(&sites);
    let blamed = |code: &str| {
        let start = woven.text.find(code).expect("woven");
        woven.blamed(&(start..start + code.len())).map(|index| (sites[index].change, sites[index].line))
    };
    assert_eq!(blamed("(start) - (len)"), Some(("an operator is replaced", 7)));
    assert_eq!(blamed("sum_grad.clone();"), Some(("a gradient's term is dropped", 23)));
    assert_eq!(blamed("fn narrow"), None);
    // Two branches of different types: the compiler names the whole of one.
    assert_eq!(blamed("(if on(24) { self . clone () } else { self.clone().sqr() })?"), Some(("a step is dropped", 15)));
    assert_eq!(blamed("self.clone().sqr()"), Some(("a step is dropped", 15)));
}
