//! `print!` and `println!` of the command line: as the standard ones, but a closed pipe is no panic.

/// Prints to standard output.
macro_rules! print {
    ($($arg:tt)*) => { $crate::console::print(format_args!($($arg)*)) };
}

/// Prints a line to standard output.
macro_rules! println {
    ($($arg:tt)*) => { $crate::console::print(format_args!("{}\n", format_args!($($arg)*))) };
}
