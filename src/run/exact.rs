//! Exact views: where `SNUFFER_EXACT_VIEWS` is set, the simulated device is told which bytes of a buffer are around the view
//! that a case makes of it, and reports kernels that reach there.

use std::sync::OnceLock;

use libloading::os::unix::{Library, Symbol};

type Hide = unsafe extern "C" fn(*const u8, usize);

/// The device's function, where it has one: a real driver has not.
fn hide() -> Option<&'static Symbol<Hide>> {
    static HIDE: OnceLock<Option<Symbol<Hide>>> = OnceLock::new();
    let find = || {
        std::env::var_os("SNUFFER_EXACT_VIEWS")?;
        #[allow(unsafe_code, reason = "the function of this name has this type")]
        // SAFETY: as above.
        unsafe {
            Library::this().get(b"snuffer_sim_hide_in_next_copy\0").ok()
        }
    };
    HIDE.get_or_init(find).as_ref()
}

/// Hides what is not at these positions of a buffer of `length` elements of `size` bytes, which is copied to the device next.
pub fn hide_around(positions: &[usize], length: usize, size: usize) {
    let Some(hide) = hide() else { return };
    let mut around = vec![1_u8; length * size];
    for &position in positions {
        around[position * size..(position + 1) * size].fill(0);
    }
    #[allow(unsafe_code, reason = "the bytes live as long as the call")]
    // SAFETY: as above.
    unsafe {
        hide(around.as_ptr(), around.len());
    }
}
