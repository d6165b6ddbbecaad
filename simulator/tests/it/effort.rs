//! The counts of a device's work, and the launches that leave it idle.

use simulator::{Effort, Serial};

use crate::machine::{HEADER, Shape, device, launch};

/// A kernel whose threads count down from 1,000, three instructions a turn and three beside.
const COUNTDOWN: &str = ".visible .entry k()\n{\n.reg .b32 %n;\n.reg .pred %p;\nmov.u32 %n, 1000;\nAGAIN:\n\
    sub.u32 %n, %n, 1;\nsetp.ne.u32 %p, %n, 0;\n@%p bra AGAIN;\nret;\n}\n";

fn effort(shape: Shape) -> Effort {
    let mut device = device();
    launch(&mut device, &format!("{HEADER}{COUNTDOWN}"), "k", shape, Vec::new()).expect("no fault");
    device.take_effort()
}

#[test]
fn a_launch_is_serial_if_fewer_than_eight_warps_do_its_work() {
    let one = effort(Shape::line(1, 32)).instructions;
    assert!((3000..3010).contains(&one), "{one}");
    let serial = Some(Serial { kernel: "k".to_string(), longest: one });
    for (blocks, threads, warps, expected) in [
        (1, 1, 1, &serial),
        (1, 33, 2, &serial),
        (7, 32, 7, &serial),
        (8, 32, 8, &None),
        (1, 256, 8, &None),
        (100, 32, 100, &None),
    ] {
        let found = effort(Shape::line(blocks, threads));
        assert_eq!(
            (found.instructions, &found.serial),
            (warps * one, expected),
            "{blocks} blocks of {threads} threads"
        );
    }
}

#[test]
fn the_peak_is_what_was_in_use_at_once_since_it_was_last_taken() {
    let mut device = device();
    let old = device.allocate(1000).expect("memory");
    assert_eq!(device.take_effort().peak, 1000);
    let first = device.allocate(300).expect("memory");
    device.free(first).expect("live");
    device.free(old).expect("live");
    device.allocate(500).expect("memory");
    assert_eq!(device.take_effort().peak, 300, "500 bytes took the place of 1,000");
    assert_eq!(device.take_effort(), Effort::default());
}
