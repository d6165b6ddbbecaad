//! A device for one kernel: buffers in, buffers out.

use simulator::{Config, Device, Fault, Kind, Launch, isa};

/// What every generated module begins with.
pub const HEADER: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The names of all forms of the instruction table.
pub fn table() -> Vec<String> {
    let text = isa::markdown();
    let mut names: Vec<String> = text.split('`').skip(1).step_by(2).map(str::to_string).collect();
    names.sort_unstable();
    names
}

/// A device whose launches may execute a million warp instructions.
pub fn device() -> Device {
    Device::new(0, &Config { budget: 1_000_000, ..Config::default() })
}

/// The size of a launch.
#[derive(Clone, Copy)]
pub struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
}

impl Shape {
    /// Blocks of one dimension without dynamic shared memory.
    pub fn line(blocks: usize, threads: u32) -> Self {
        Self { grid: [blocks as u32, 1, 1], block: [threads, 1, 1], shared: 0 }
    }
}

/// Runs the kernel `k` of `text` on copies of `buffers`, whose addresses are its first parameters and `rest` the bytes of
/// the others. The buffers are read back.
pub fn run(text: &str, shape: Shape, buffers: &mut [Vec<u8>], rest: &[u8]) -> Result<(), Fault> {
    let mut device = device();
    let addresses: Vec<u64> = buffers.iter().map(|buffer| upload(&mut device, buffer)).collect();
    let mut params: Vec<u8> = addresses.iter().flat_map(|address| address.to_le_bytes()).collect();
    params.extend(rest);
    launch(&mut device, text, "k", shape, params)?;
    let reports: Vec<Fault> = device.reports().into_iter().filter(|report| report.kind != Kind::Arithmetic).collect();
    assert_eq!(reports, Vec::new(), "reports of a kernel without fault:\n{text}");
    for (buffer, address) in buffers.iter_mut().zip(addresses) {
        *buffer = device.bytes(address, buffer.len() as u64).expect("still allocated").to_vec();
    }
    Ok(())
}

/// A new allocation that holds `data`.
pub fn upload(device: &mut Device, data: &[u8]) -> u64 {
    let address = device.allocate(data.len() as u64).expect("memory");
    device.bytes_mut(address, data.len() as u64).expect("allocated").copy_from_slice(data);
    address
}

/// Loads `text` and launches one of its kernels.
pub fn launch(device: &mut Device, text: &str, kernel: &str, shape: Shape, params: Vec<u8>) -> Result<(), Fault> {
    let module = device.load(text).unwrap_or_else(|error| panic!("{error:?} in\n{text}"));
    let function = device.function(module, kernel).unwrap_or_else(|| panic!("no kernel `{kernel}` in\n{text}"));
    let Shape { grid, block, shared } = shape;
    device.launch(function, &Launch { grid, block, shared, params })
}

/// The little-endian words of a buffer.
pub fn words(buffer: &[u8]) -> Vec<u32> {
    buffer.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().expect("four bytes"))).collect()
}

/// The little-endian double words of a buffer.
pub fn longs(buffer: &[u8]) -> Vec<u64> {
    buffer.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes"))).collect()
}
