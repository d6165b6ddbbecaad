//! The error codes that this library returns.

use simulator::Kind;

/// A `CUresult`, or a status of another CUDA library. Rust callers read it as an enum, so that only members of that enum may
/// be returned.
pub type Code = u32;

/// Done.
pub const SUCCESS: Code = 0;
/// An argument is out of range.
pub const INVALID_VALUE: Code = 1;
/// The memory of the device is used up.
pub const OUT_OF_MEMORY: Code = 2;
/// `cuInit` was not called, or failed.
pub const NOT_INITIALIZED: Code = 3;
/// The configuration has no devices.
pub const NO_DEVICE: Code = 100;
/// No device has this ordinal.
pub const INVALID_DEVICE: Code = 101;
/// A module cannot be read.
pub const INVALID_IMAGE: Code = 200;
/// No context is current, or the handle is invalid.
pub const INVALID_CONTEXT: Code = 201;
/// A module holds no code for the device.
pub const NO_BINARY_FOR_GPU: Code = 209;
/// PTX does not compile.
pub const INVALID_PTX: Code = 218;
/// PTX is newer than the driver.
pub const UNSUPPORTED_PTX_VERSION: Code = 222;
/// A module's file cannot be read.
pub const FILE_NOT_FOUND: Code = 301;
/// A stream is not, or already is, captured.
pub const ILLEGAL_STATE: Code = 401;
/// A handle of a stream, event, module or function is invalid, or belongs to another context.
pub const INVALID_HANDLE: Code = 400;
/// The device has no such limit.
pub const UNSUPPORTED_LIMIT: Code = 215;
/// Work has not ended.
pub const NOT_READY: Code = 600;
/// A module has no function or variable of this name.
pub const NOT_FOUND: Code = 500;
/// A kernel did not end in time.
pub const LAUNCH_TIMEOUT: Code = 702;
/// A device cannot hold all blocks of a cooperative launch at once.
pub const COOPERATIVE_LAUNCH_TOO_LARGE: Code = 720;
/// Memory of the host is registered already, in part at least.
pub const HOST_MEMORY_ALREADY_REGISTERED: Code = 712;
/// Memory of the host is not registered.
pub const HOST_MEMORY_NOT_REGISTERED: Code = 713;
/// The current context was released.
pub const CONTEXT_IS_DESTROYED: Code = 709;
/// The simulator does not do this.
pub const NOT_SUPPORTED: Code = 801;
/// The configuration in the environment is malformed.
pub const SYSTEM_NOT_READY: Code = 802;

/// A call that a capture forbids.
pub const CAPTURE_UNSUPPORTED: Code = 900;
/// The capture did something before that it must not.
pub const CAPTURE_INVALIDATED: Code = 901;
/// Two captures would become one.
pub const CAPTURE_MERGE: Code = 902;
/// The capture did not begin in this stream.
pub const CAPTURE_UNMATCHED: Code = 903;
/// The stream of a capture did not wait for the others.
pub const CAPTURE_UNJOINED: Code = 904;
/// Captured work would depend on work that is not.
pub const CAPTURE_ISOLATION: Code = 905;
/// The legacy stream would depend on captured work.
pub const CAPTURE_IMPLICIT: Code = 906;
/// The event was recorded in a capture.
pub const CAPTURED_EVENT: Code = 907;
/// Another thread began the capture.
pub const CAPTURE_WRONG_THREAD: Code = 908;
/// A graph has other nodes than the one that it should replace.
pub const GRAPH_UPDATE_FAILURE: Code = 910;

/// The code by which the driver reports a kernel's fault: what an H200 with driver 580.159.04 returns for the kernels of
/// `simulator/tests/fail`, as far as it notices them (docs/gpu/h200.md).
pub fn of(kind: Kind) -> Code {
    match kind {
        Kind::Assert => 710,
        Kind::OutOfBounds | Kind::UseAfterFree | Kind::OutOfView | Kind::OutOfWindow => 700,
        Kind::Misaligned => 716,
        Kind::Trap => 719,
        // An illegal instruction: a lane that is not in its own member mask.
        Kind::Barrier => 715,
        // A device without a watchdog hangs instead; only the simulator has a time limit.
        Kind::Deadlock | Kind::Budget | Kind::Loop => LAUNCH_TIMEOUT,
        Kind::InvalidFree => INVALID_VALUE,
        // Hardware goes on after these, and so does the launch.
        Kind::Uninitialized | Kind::Race | Kind::StreamRace | Kind::Arithmetic | Kind::NotFinite | Kind::Sampled => {
            SUCCESS
        }
        // Only other tools report these two; a call that is asked to fail returns the code that was asked for.
        Kind::UseBeforeAllocation | Kind::Leak | Kind::Injected => SUCCESS,
        Kind::Unsupported => NOT_SUPPORTED,
    }
}
