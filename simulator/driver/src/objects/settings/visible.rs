//! `CUDA_VISIBLE_DEVICES`: which devices of the machine the program sees, and in which order (CUDA C++ Programming Guide, "CUDA
//! Environment Variables").

/// The identity of a device, by its number in the machine.
pub fn uuid(device: usize) -> [u8; 16] {
    let mut id = *b"snuffer-sim-gpu0";
    id[15] += device as u8;
    id
}

/// The identity as `nvidia-smi -L` prints it, and as `list` may name it.
fn text(device: usize) -> String {
    let digits = format!("{:032x}", u128::from_be_bytes(uuid(device)));
    let at = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    format!("GPU-{}", at.join("-"))
}

/// The devices that `list` names, of a machine that has this many. An entry that names none hides itself and all after it, and
/// so does `-1`. A list that names a device twice shows none: the guide does not say so, and no hardware was asked.
pub fn visible(list: &str, installed: usize) -> Vec<usize> {
    let named = |entry: &str| match entry.strip_prefix("GPU-") {
        // The beginning of an identity is enough, if it is that of one device only.
        Some(_) => {
            let mut fitting = (0..installed).filter(|device| text(*device).starts_with(entry));
            fitting.next().filter(|_| fitting.next().is_none())
        }
        None => entry.parse().ok().filter(|device| *device < installed),
    };
    let devices: Vec<usize> = list.split(',').map_while(|entry| named(entry.trim())).collect();
    let is_repeated = (1..devices.len()).any(|at| devices[..at].contains(&devices[at]));
    if is_repeated { Vec::new() } else { devices }
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn a_list_names_devices_up_to_the_first_that_does_not_exist() {
        let table: [(&str, &[usize]); 11] = [
            ("0", &[0]),
            ("2,0", &[2, 0]),
            ("0, 1", &[0, 1]),
            ("0,2,-1,1", &[0, 2]),
            ("0,7,1", &[0]),
            ("", &[]),
            ("NoDevFiles", &[]),
            ("1,1", &[]),
            ("GPU-736e7566-6665-722d-7369-6d2d67707531,0", &[1, 0]),
            ("GPU-736e", &[]),
            ("GPU-00", &[]),
        ];
        for (list, devices) in table {
            assert_eq!(visible(list, 3), devices, "{list}");
        }
    }
}
