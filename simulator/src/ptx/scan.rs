//! Where declarations and bodies end. Bodies are skipped, not parsed.

/// The length up to the body of a function or section, or past the semicolon of a declaration.
pub fn header_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    // An initializer's braces are not a body, and the semicolon of a function's `.pragma` is not the function's.
    let (mut initializer, mut function, mut pragma) = (false, false, false);
    while at < bytes.len() {
        if let Some(length) = aside(&bytes[at..]) {
            at += length;
            continue;
        }
        match bytes[at] {
            b'=' => initializer = true,
            b'{' if !initializer => return Some(at),
            b';' if function && pragma => pragma = false,
            b';' => return Some(at + 1),
            b'.' => {
                let is = |word: &[u8]| bytes[at..].starts_with(word);
                function |= is(b".entry") || is(b".func");
                pragma |= is(b".pragma");
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the body in braces that `text` begins with; `None` if it has no end.
pub fn body_length(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0u32);
    while let Some(found) = memchr::memchr3(b'{', b'}', b'/', &bytes[at..]) {
        at += found;
        if let Some(length) = aside(&bytes[at..]) {
            at += length;
            continue;
        }
        match bytes[at] {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

/// The length of the comment or string that `bytes` begin with.
fn aside(bytes: &[u8]) -> Option<usize> {
    let (begin, end): (usize, &[u8]) = match bytes {
        [b'/', b'/', ..] => (2, b"\n"),
        // What old compilers write for debuggers.
        [b'@', b'@', ..] => (2, b"\n"),
        [b'/', b'*', ..] => (2, b"*/"),
        [b'"', ..] => (1, b"\""),
        _ => return None,
    };
    let length = memchr::memmem::find(&bytes[begin..], end).map(|found| begin + found + end.len());
    Some(length.unwrap_or(bytes.len()))
}
