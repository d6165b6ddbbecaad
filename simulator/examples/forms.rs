//! Prints every PTX form that the simulated device executes, as Markdown.

fn main() {
    println!(
        "# PTX forms that the simulated device executes\n\n\
         From the instruction table (`simulator/src/isa/`). Numbers are sections of the PTX ISA 9.0. A kernel with any other form is \
         reported as\nunsupported, by the form's name, when it is launched.\n"
    );
    print!("{}", simulator::isa::markdown());
}
