//! Tells the simulated device which bytes of a buffer are outside the view that a case makes of it. The device reports kernels that
//! access those bytes.

use std::sync::OnceLock;

use libloading::os::unix::{Library, Symbol};

type Hide = unsafe extern "C" fn(*const u8, usize);

/// The simulated driver's function for this; a real driver has none.
fn hide() -> Option<&'static Symbol<Hide>> {
    static HIDE: OnceLock<Option<Symbol<Hide>>> = OnceLock::new();
    let find = || {
        #[allow(unsafe_code, reason = "the function of this name has this type")]
        // SAFETY: as above.
        unsafe {
            Library::this().get(b"snuffer_sim_hide_in_next_copy\0").ok()
        }
    };
    HIDE.get_or_init(find).as_ref()
}

/// Hides the elements outside these positions of a buffer of `length` elements of `size` bytes. Call it right before the
/// buffer is copied to the device.
pub fn hide_around(positions: &[usize], length: usize, size: usize) {
    let Some(hide) = hide() else { return };
    let mut hidden = vec![1_u8; length * size];
    for &position in positions {
        hidden[position * size..(position + 1) * size].fill(0);
    }
    #[allow(unsafe_code, reason = "the bytes live as long as the call")]
    // SAFETY: as above.
    unsafe {
        hide(hidden.as_ptr(), hidden.len());
    }
}
