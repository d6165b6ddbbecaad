//! `print!`, `println!` and `eprintln!` of the command line: like the standard ones, but a closed pipe ends the process quietly, and
//! no terminal obeys what is printed.

/// Prints to standard output.
macro_rules! print {
    ($($arg:tt)*) => { $crate::console::print(format_args!($($arg)*)) };
}

/// Prints a line to standard output.
macro_rules! println {
    ($($arg:tt)*) => { $crate::console::print(format_args!("{}\n", format_args!($($arg)*))) };
}

/// Prints a message to standard error.
macro_rules! eprintln {
    ($($arg:tt)*) => { $crate::console::complain(format_args!($($arg)*)) };
}
