//! Loads and stores: every space, type and vector, through every window.

use crate::machine::{HEADER, Shape, longs, run, table};
use crate::types::{Random, Type, ones};

/// The memory that has the 32 accessed bytes of each thread.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Global,
    Shared,
    Local,
    /// A parameter of the kernel.
    Param,
}

/// A form, taken apart.
struct Form {
    name: String,
    store: bool,
    /// `None` is generic.
    space: Option<Place>,
    elements: usize,
    one: Type,
}

fn parse(name: &str) -> Option<Form> {
    let mut parts: Vec<&str> = name.split('.').collect();
    let store = match parts.remove(0) {
        "ld" => false,
        "st" => true,
        _ => return None,
    };
    let one = Type::named(parts.pop()?)?;
    let space = [
        ("global", Place::Global),
        ("const", Place::Global),
        ("shared", Place::Shared),
        ("local", Place::Local),
        ("param", Place::Param),
    ];
    let space = space.into_iter().find(|(name, _)| parts.contains(name)).map(|(_, space)| space);
    let elements = ["v2", "v4", "v8"]
        .into_iter()
        .find(|one| parts.contains(one))
        .map_or(1, |one| one[1..].parse().expect("digits"));
    parts.retain(|part| {
        !["volatile", "relaxed", "gpu", "global", "const", "shared", "local", "param", "nc", "v2", "v4", "v8"]
            .contains(part)
    });
    parts.is_empty().then(|| Form { name: name.to_string(), store, space, elements, one })
}

/// Whether these tests execute a form.
pub fn covers(name: &str) -> bool {
    parse(name).is_some()
}

fn forms(store: bool) -> Vec<Form> {
    let forms: Vec<Form> = table().iter().filter_map(|name| parse(name)).filter(|form| form.store == store).collect();
    assert!(forms.len() > 700, "only {} forms", forms.len());
    forms
}

impl Form {
    fn bytes(&self) -> usize {
        self.one.bits() as usize / 8
    }

    /// The register of one element: integers are extended to 64 bits, the widest register.
    fn register(&self) -> u32 {
        if self.one.is_integer() && self.elements < 8 { 64 } else { self.one.bits() }
    }

    /// The bytes from one element's result to the next: a thread has 32 for all.
    fn step(&self) -> usize {
        32 / self.elements.max(4)
    }

    /// The results of a thread.
    fn results(&self, bytes: &[u8]) -> Vec<u64> {
        let wide = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte));
        bytes.chunks(self.step()).take(self.elements).map(wide).collect()
    }

    /// `{%v0, %v1}`, or `%v0` alone.
    fn vector(&self) -> String {
        let names: Vec<String> = (0..self.elements).map(|number| format!("%v{number}")).collect();
        if self.elements == 1 { names.concat() } else { format!("{{{}}}", names.join(", ")) }
    }

    fn places(&self) -> Vec<Place> {
        self.space.map_or(vec![Place::Global, Place::Shared, Place::Local], |space| vec![space])
    }

    /// The element of 8 little-endian bytes, as a load leaves it in its register.
    fn loaded(&self, bytes: &[u8]) -> u64 {
        let mut wide = [0; 8];
        wide[..self.bytes()].copy_from_slice(&bytes[..self.bytes()]);
        let bits = u64::from_le_bytes(wide);
        if self.one.is_integer() { self.one.integer(bits) as u64 } else { bits }
    }

    /// A kernel whose threads have 32 bytes each at `place`, 32 bytes after `%at`; `%in` and `%out` are the thread's own
    /// 32 bytes of two buffers. They are copied to `place` first, `body` follows, and if `back` they are copied to `%out`.
    fn kernel(&self, place: Place, body: &str, back: bool) -> String {
        let register = self.register();
        let mut text =
            format!("{HEADER}.visible .entry k(.param .u64 a, .param .u64 b, .param .align 32 .b8 p[32])\n{{\n");
        text += ".shared .align 32 .b8 s[1024];\n.local .align 32 .b8 l[32];\n.reg .b32 %i;\n";
        text += &format!(".reg .b64 %in, %out, %at, %o, %t;\n.reg .b{register} %v<8>;\n");
        text += "mov.u32 %i, %tid.x;\nmul.wide.u32 %o, %i, 32;\nld.param.u64 %in, [a];\nadd.s64 %in, %in, %o;\n";
        text += "ld.param.u64 %out, [b];\nadd.s64 %out, %out, %o;\n";
        let space = match place {
            Place::Global => ".global",
            Place::Shared => ".shared",
            Place::Local => ".local",
            Place::Param => return text + body + "ret;\n}\n",
        };
        text += match place {
            Place::Shared => "mov.u64 %at, s;\nadd.s64 %at, %at, %o;\n",
            Place::Local => "mov.u64 %at, l;\n",
            _ => "mov.u64 %at, %out;\n",
        };
        for at in [0, 8, 16, 24] {
            text += &format!("ld.global.b64 %t, [%in+{at}];\nst{space}.b64 [%at+{at}], %t;\n");
        }
        if self.space.is_none() && place != Place::Global {
            text += &format!("cvta{space}.u64 %at, %at;\n");
        }
        text += "sub.s64 %at, %at, 32;\n";
        text += body;
        text += "add.s64 %at, %at, 32;\n";
        if self.space.is_none() && place != Place::Global {
            text += &format!("cvta.to{space}.u64 %at, %at;\n");
        }
        for at in [0, 8, 16, 24].iter().filter(|_| back) {
            text += &format!("ld{space}.b64 %t, [%at+{at}];\nst.global.b64 [%out+{at}], %t;\n");
        }
        text + "ret;\n}\n"
    }
}

fn random(bytes: usize) -> Vec<u8> {
    let mut random = Random(7);
    (0..bytes).map(|_| random.next() as u8).collect()
}

#[test]
fn loads_extend_what_is_in_memory() {
    for form in forms(false) {
        for place in form.places() {
            let address = if place == Place::Param { "[p]" } else { "[%at+32]" };
            let mut body = format!("{} {}, {address};\n", form.name, form.vector());
            for element in 0..form.elements {
                body += &format!("st.global.b{} [%out+{}], %v{element};\n", form.register(), form.step() * element);
            }
            // Through global memory, `%out` holds what is loaded: all elements are loaded before the first is stored.
            let mut buffers = [random(1024), vec![0; 1024]];
            let param = random(32);
            // Two pointers, padded to a multiple of 32.
            let rest = [&[0; 16], param.as_slice()].concat();
            run(&form.kernel(place, &body, false), Shape::line(1, 32), &mut buffers, &rest).expect(&form.name);
            for (thread, (bytes, results)) in buffers[0].chunks(32).zip(buffers[1].chunks(32)).enumerate() {
                let bytes = if place == Place::Param { &param } else { bytes };
                for (element, result) in form.results(results).into_iter().enumerate() {
                    let expected = form.loaded(&bytes[element * form.bytes()..]) & ones(form.register());
                    let result = result & ones(form.register());
                    assert_eq!(result, expected, "{} of thread {thread}, element {element}", form.name);
                }
            }
        }
    }
}

#[test]
fn stores_write_their_bytes_and_no_others() {
    for form in forms(true).iter().filter(|form| form.space != Some(Place::Param)) {
        for place in form.places() {
            // The values are the first 8 bytes of the thread's own, shifted so that elements differ.
            let mut body = "ld.global.b64 %t, [%in];\n".to_string();
            for element in 0..form.elements {
                body += &format!("shr.u64 %o, %t, {};\n", 8 * element);
                body += &match form.register() {
                    64 => format!("mov.b64 %v{element}, %o;\n"),
                    32 => format!("mov.b64 {{%v{element}, _}}, %o;\n"),
                    _ => format!("mov.b64 {{%v{element}, _, _, _}}, %o;\n"),
                };
            }
            body += &format!("{} [%at+32], {};\n", form.name, form.vector());
            let from = random(1024);
            let mut buffers = [from.clone(), vec![0; 1024]];
            run(&form.kernel(place, &body, true), Shape::line(1, 32), &mut buffers, &[0; 48]).expect(&form.name);
            for (thread, (before, after)) in from.chunks(32).zip(buffers[1].chunks(32)).enumerate() {
                let mut expected = before.to_vec();
                let first = longs(before)[0];
                for element in 0..form.elements {
                    let value = (first >> (8 * element)).to_le_bytes();
                    expected[element * form.bytes()..][..form.bytes()].copy_from_slice(&value[..form.bytes()]);
                }
                assert_eq!(after, expected, "{} of thread {thread}", form.name);
            }
        }
    }
}

#[test]
fn parameters_of_device_functions_arrive() {
    for form in forms(true).iter().filter(|form| form.space == Some(Place::Param)) {
        let load = format!("ld{}", &form.name[2..]);
        let (register, vector) = (form.register(), form.vector());
        let (mut read, mut written) = (String::new(), String::new());
        for element in 0..form.elements {
            let at = element * form.bytes();
            // A caller extends small integers by their type.
            let suffix = if form.one.is_integer() { form.name.rsplit('.').next().expect("a type") } else { "" };
            let typed = if suffix.is_empty() { format!("b{register}") } else { suffix.to_string() };
            read += &format!("ld.global.{typed} %v{element}, [%in+{at}];\n");
            written += &format!("st.global.b{register} [%out+{}], %v{element};\n", form.step() * element);
        }
        let text = format!(
            "{HEADER}.visible .func (.param .align 32 .b8 r[32]) f(.param .align 32 .b8 q[32])\n\
             {{\n.reg .b{register} %v<8>;\n{load} {vector}, [q];\n{} [r], {vector};\nret;\n}}\n\
             .visible .entry k(.param .u64 a, .param .u64 b)\n{{\n.reg .b64 %in, %out, %o;\n.reg .b32 %i;\n\
             .reg .b{register} %v<8>;\nmov.u32 %i, %tid.x;\nmul.wide.u32 %o, %i, 32;\nld.param.u64 %in, [a];\n\
             add.s64 %in, %in, %o;\nld.param.u64 %out, [b];\nadd.s64 %out, %out, %o;\n{read}{{\n\
             .param .align 32 .b8 x[32];\n.param .align 32 .b8 y[32];\n{} [x], {vector};\ncall.uni (y), f, (x);\n\
             {load} {vector}, [y];\n}}\n{written}ret;\n}}\n",
            form.name, form.name
        );
        let mut buffers = [random(1024), vec![0; 1024]];
        run(&text, Shape::line(1, 32), &mut buffers, &[]).expect(&form.name);
        for (bytes, results) in buffers[0].chunks(32).zip(buffers[1].chunks(32)) {
            for (element, result) in form.results(results).into_iter().enumerate() {
                let expected = form.loaded(&bytes[element * form.bytes()..]) & ones(form.register());
                assert_eq!(result, expected, "{}, element {element}", form.name);
            }
        }
    }
}
