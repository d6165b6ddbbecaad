//! Prints every PTX form that the simulated device executes, as Markdown.

fn main() {
    println!(
        "# PTX forms that the simulated device executes\n\n\
         From the instruction table (`simulator/src/isa/`). Numbers are sections of the PTX ISA 9.0. Beside these: `.sat` and, for halves, \
         `.ftz` of arithmetic;\ncomparisons of pairs, and those that are combined with a predicate; video instructions; orders, scopes and hints. A kernel \
         with any other form\nis reported as unsupported, by the form's name, when it is launched.\n"
    );
    print!("{}", simulator::isa::markdown());
}
