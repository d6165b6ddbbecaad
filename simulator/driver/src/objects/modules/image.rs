//! Reads the PTX of a module's image: text, or a fat binary.

use crate::objects::codes::{Code, INVALID_IMAGE, INVALID_VALUE, NO_BINARY_FOR_GPU};
use crate::objects::reports::report;
use ruzstd::decoding::FrameDecoder;
use std::borrow::Cow;
use std::ffi::{CStr, c_void};
use std::slice;

/// The wrapper that compilers put around a fat binary: magic, version, and the address of the fat binary.
const WRAPPER: [u8; 4] = 0x4662_43B1_u32.to_le_bytes();
/// A fat binary: magic, version (2 bytes), size of this header (2 bytes), size of the entries (8 bytes).
const FAT: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const ELF: [u8; 4] = *b"\x7fELF";

/// The PTX of an image.
///
/// # Safety
/// `image` is null or points to an image that `cuModuleLoadData` takes, which outlives `'a`.
pub unsafe fn ptx<'a>(image: *const c_void, capability: (u32, u32)) -> Result<Cow<'a, str>, Code> {
    let bytes = image.cast::<u8>();
    // A text may be shorter than a magic number. It ends at its NUL, which differs, so that nothing after it is read.
    // SAFETY: only bytes of the image are read, as just said.
    let begins = |magic: [u8; 4]| (0..4).all(|at| unsafe { bytes.add(at).read() } == magic[at]);
    if image.is_null() {
        Err(INVALID_VALUE)
    } else if begins(WRAPPER) {
        // SAFETY: the wrapper's second word is the address of the fat binary.
        unsafe { ptx(bytes.add(8).cast::<*const c_void>().read_unaligned(), capability) }
    } else if begins(FAT) {
        // SAFETY: the header is 16 bytes, and its sizes are those of the image.
        let entries = unsafe {
            let header = slice::from_raw_parts(bytes, 16);
            slice::from_raw_parts(bytes.add(usize::from(half_word(header, 6))), long(header, 8) as usize)
        };
        best(entries, capability)
    } else if begins(ELF) {
        report::unsupported("a module of machine code");
        Err(NO_BINARY_FOR_GPU)
    } else {
        // SAFETY: images that are neither a fat binary nor ELF are NUL-terminated PTX text (cuModuleLoadData).
        Ok(readable(unsafe { CStr::from_ptr(bytes.cast()) }.to_bytes()))
    }
}

/// The PTX for the highest architecture that the device supports.
///
/// An entry's header holds its kind (2 bytes at 0: 1 is PTX), its own size (4 bytes at 4), the size of what follows it (8
/// bytes at 8), the architecture (4 bytes at 28) and flags (8 bytes at 40). If the text is compressed, the header also holds
/// the size without padding (4 bytes at 16) and the size of the text (8 bytes at 56).
fn best(mut entries: &[u8], (major, minor): (u32, u32)) -> Result<Cow<'_, str>, Code> {
    const HEADER: usize = 64;
    let mut best: Option<(u32, &[u8], &[u8])> = None;
    while entries.len() >= HEADER {
        let begin = word(entries, 4) as usize;
        let end = begin.saturating_add(long(entries, 8) as usize).min(entries.len());
        let architecture = word(entries, 28);
        let is_ptx = half_word(entries, 0) == 1 && begin >= HEADER && begin <= end;
        if is_ptx && architecture <= 10 * major + minor && best.is_none_or(|(known, ..)| known < architecture) {
            best = Some((architecture, &entries[..HEADER], &entries[begin..end]));
        }
        entries = &entries[end.max(HEADER)..];
    }
    let Some((_, header, payload)) = best else {
        report::unsupported("a fat binary without PTX for this device");
        return Err(NO_BINARY_FOR_GPU);
    };
    text(header, payload)
}

/// The text of an entry.
fn text<'a>(header: &[u8], payload: &'a [u8]) -> Result<Cow<'a, str>, Code> {
    const LZ4: u64 = 0x2000;
    const ZSTD: u64 = 0x8000;
    /// A header that claims more is damaged.
    const LONGEST: u64 = 1 << 30;
    let flags = long(header, 40);
    if flags & LZ4 != 0 {
        report::unsupported("PTX that LZ4 compressed");
        return Err(NO_BINARY_FOR_GPU);
    }
    if flags & ZSTD == 0 {
        return Ok(readable(before_nul(payload)));
    }
    let compressed = payload.get(..word(header, 16) as usize).ok_or(INVALID_IMAGE)?;
    let (mut bytes, length) = (Vec::new(), long(header, 56));
    if length > LONGEST {
        return Err(INVALID_IMAGE);
    }
    bytes.try_reserve_exact(length as usize).map_err(|_| INVALID_IMAGE)?;
    FrameDecoder::new().decode_all_to_vec(compressed, &mut bytes).map_err(|why| {
        report::print(&format!("snuffer-sim: a fat binary cannot be read: {why}"));
        INVALID_IMAGE
    })?;
    bytes.truncate(before_nul(&bytes).len());
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| INVALID_IMAGE)
}

/// A text that may have damaged characters in its comments. [`String::from_utf8_lossy`] looks at each byte by itself, and texts have
/// megabytes.
fn readable(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

fn before_nul(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len())]
}

fn half_word(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half_word(bytes, at)) | u32::from(half_word(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

#[cfg(test)]
mod tests {
    use super::{INVALID_IMAGE, NO_BINARY_FOR_GPU, ptx};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    /// One entry as `fatbinary` writes it.
    fn entry(kind: u16, architecture: u32, flags: u64, text: &str) -> Vec<u8> {
        let zstd = flags & 0x8000 != 0;
        let mut payload =
            if zstd { compress_to_vec(text.as_bytes(), CompressionLevel::Fastest) } else { text.as_bytes().to_vec() };
        let mut bytes = vec![0; 80];
        bytes[..2].copy_from_slice(&kind.to_le_bytes());
        bytes[4..8].copy_from_slice(&80_u32.to_le_bytes());
        bytes[28..32].copy_from_slice(&architecture.to_le_bytes());
        bytes[40..48].copy_from_slice(&flags.to_le_bytes());
        if zstd {
            bytes[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
            bytes[56..64].copy_from_slice(&(text.len() as u64).to_le_bytes());
        }
        payload.resize((payload.len() + 8) & !7, 0);
        bytes[8..16].copy_from_slice(&(payload.len() as u64).to_le_bytes());
        bytes.extend(payload);
        bytes
    }

    fn load(entries: &[Vec<u8>]) -> Result<String, u32> {
        let entries = entries.concat();
        let mut fat = vec![0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0];
        fat.extend((entries.len() as u64).to_le_bytes());
        fat.extend(entries);
        let wrapper = [0x1_4662_43B1, fat.as_ptr().addr() as u64, 0];
        // SAFETY: a wrapper around a fat binary.
        let (bare, wrapped) = unsafe { (ptx(fat.as_ptr().cast(), (9, 0)), ptx(wrapper.as_ptr().cast(), (9, 0))) };
        assert_eq!(bare, wrapped);
        bare.map(String::from)
    }

    #[test]
    fn the_highest_architecture_that_fits_is_chosen() {
        let entries = [entry(2, 90, 0x11, "\x7fELF"), entry(1, 80, 0x11, "old"), entry(1, 90, 0x11, "fits")];
        assert_eq!(load(&entries).as_deref(), Ok("fits"));
        assert_eq!(load(&[entry(1, 80, 0x11, "fits"), entry(1, 100, 0x11, "new")]).as_deref(), Ok("fits"));
    }

    #[test]
    fn compressed_text_is_restored() {
        let text = ".version 9.0\n".repeat(10_000);
        assert_eq!(load(&[entry(1, 90, 0x8011, &text)]).as_deref(), Ok(text.as_str()));
        assert_eq!(load(&[entry(1, 90, 0x8011, "ends\0\0")]).as_deref(), Ok("ends"));
    }

    #[test]
    fn damaged_images_are_refused() {
        let whole = entry(1, 90, 0x8011, "a text");
        // The compressed size, the text's size, also a huge one, and the first byte of the text.
        for (at, byte) in [(16, 255), (56, 0), (60, 255), (80, 0)] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            assert_eq!(load(&[damaged]), Err(INVALID_IMAGE), "byte {at}");
        }
    }

    #[test]
    fn machine_code_and_another_compression_are_refused() {
        assert_eq!(load(&[entry(2, 90, 0x11, "\x7fELF")]), Err(NO_BINARY_FOR_GPU));
        assert_eq!(load(&[entry(1, 90, 0x2011, "LZ4")]), Err(NO_BINARY_FOR_GPU));
        assert_eq!(load(&[]), Err(NO_BINARY_FOR_GPU));
    }

    #[test]
    fn text_is_used_as_it_is() {
        // SAFETY: texts that a NUL ends.
        unsafe {
            assert_eq!(ptx(c".version 9.0".as_ptr().cast(), (9, 0)).as_deref(), Ok(".version 9.0"));
            assert_eq!(ptx(c"".as_ptr().cast(), (9, 0)).as_deref(), Ok(""));
        }
    }
}
