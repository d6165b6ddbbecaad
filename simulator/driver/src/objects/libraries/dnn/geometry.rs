//! Which elements of a tensor a moving window meets: stretches of a row of the input, each beside a stretch of a row of the output.

use crate::objects::libraries::dnn::Steps;

/// The sizes in space of a window that moves over an input.
#[derive(Debug, Clone)]
pub struct Geometry {
    pub input: Vec<usize>,
    pub window: Vec<usize>,
    pub output: Vec<usize>,
    pub steps: Steps,
    /// Whether the window's elements are taken from the last to the first.
    pub flipped: bool,
}

/// Neighbours in a row of the output, which meet one element of the window.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    /// The element of the window.
    pub tap: usize,
    /// The place in the input of the first; the others are a step apart.
    pub input: usize,
    /// Its place in the row of the output.
    pub output: usize,
    pub length: usize,
}

/// A window's way over an input.
#[derive(Debug)]
pub struct Way {
    /// The stretches of each row of the output.
    pub rows: Vec<Vec<Stretch>>,
    /// Elements in a row of the output.
    pub width: usize,
    /// Elements of the input from one place of a stretch to the next.
    pub step: usize,
    pub taps: usize,
}

impl Geometry {
    /// The size of the output that the documentation has: `1 + (input + 2 * pad - (((window - 1) * dilation) + 1)) / stride`. None if
    /// the window is larger than the input with its padding.
    pub fn expected(input: &[usize], window: &[usize], steps: &Steps) -> Option<Vec<usize>> {
        let size = |d: usize| {
            let reach = (window[d] - 1) * steps.dilations[d] + 1;
            Some((input[d] + 2 * steps.pads[d]).checked_sub(reach)? / steps.strides[d] + 1)
        };
        (0..input.len()).map(size).collect()
    }

    /// The same with fewer dimensions and longer rows: a single point adds nothing, and a window of one element takes the whole input
    /// as one row.
    fn simplified(&self) -> Self {
        let mut simple = self.clone();
        let Steps { pads, strides, .. } = &self.steps;
        let is_whole = |d: usize| self.window[d] == 1 && pads[d] == 0 && (strides[d] == 1 || self.input[d] == 1);
        if (0..self.input.len()).all(is_whole) {
            let all = vec![self.input.iter().product()];
            let steps = Steps { pads: vec![0], strides: vec![1], dilations: vec![1] };
            return Self { output: all.clone(), input: all, window: vec![1], steps, flipped: false };
        }
        while simple.input.len() > 1 {
            let last = simple.input.len() - 1;
            if simple.input[last] != 1 || !is_whole(last) {
                break;
            }
            let Steps { pads, strides, dilations } = &mut simple.steps;
            for sizes in [&mut simple.input, &mut simple.window, &mut simple.output, pads, strides, dilations] {
                sizes.pop();
            }
        }
        simple
    }

    pub fn way(&self) -> Way {
        let simple = self.simplified();
        let last = simple.input.len() - 1;
        let outer = places(&simple.output[..last]);
        let taps = places(&simple.window);
        let rows = outer.iter().map(|row| {
            let stretches = taps.iter().enumerate().filter_map(|(tap, place)| simple.stretch(row, place, tap));
            stretches.collect()
        });
        let step = simple.steps.strides[last];
        Way { rows: rows.collect(), width: simple.output[last], step, taps: taps.len() }
    }

    /// The part of a row that an element of the window meets inside of the input.
    fn stretch(&self, row: &[usize], place: &[usize], tap: usize) -> Option<Stretch> {
        let Steps { pads, strides, dilations } = &self.steps;
        let last = self.input.len() - 1;
        // How far the element is behind the window's first position, which the padding moves to the front.
        let offset = |d: usize| {
            let index = if self.flipped { self.window[d] - 1 - place[d] } else { place[d] };
            (index * dilations[d]) as i64 - pads[d] as i64
        };
        let mut input = 0;
        for d in 0..last {
            let at = (row[d] * strides[d]) as i64 + offset(d);
            let at = usize::try_from(at).ok().filter(|&at| at < self.input[d])?;
            input = (input + at) * self.input[d + 1];
        }
        let (offset, stride) = (offset(last), strides[last] as i64);
        // The first places whose input is inside, and behind.
        let reaches = |input: i64| (input - offset + stride - 1).max(0) / stride;
        let (begin, end) = (reaches(0), reaches(self.input[last] as i64).min(self.output[last] as i64));
        let first = (begin * stride + offset) as usize;
        (begin < end).then(|| Stretch {
            tap,
            input: input + first,
            output: begin as usize,
            length: (end - begin) as usize,
        })
    }
}

/// Every index of these dimensions, the last fastest.
fn places(dims: &[usize]) -> Vec<Vec<usize>> {
    dims.iter().fold(vec![Vec::new()], |places, &dim| {
        places.iter().flat_map(|place| (0..dim).map(move |i| place.iter().copied().chain([i]).collect())).collect()
    })
}
