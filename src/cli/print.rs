//! `print!` and `println!` of the command line: like the standard ones, but a closed pipe ends the process quietly.

/// Prints to standard output.
macro_rules! print {
    ($($arg:tt)*) => { $crate::console::print(format_args!($($arg)*)) };
}

/// Prints a line to standard output.
macro_rules! println {
    ($($arg:tt)*) => { $crate::console::print(format_args!("{}\n", format_args!($($arg)*))) };
}
