//! cuDNN: whether the descriptors of a convolution fit each other, and which algorithms can do it.
//!
//! Sources: the returns of `cudnnConvolutionForward`, and its tables of supported algorithms.

use super::{BAD_PARAM, NOT_SUPPORTED, refuse, tensor_of};
use crate::objects::codes::Code;
use crate::objects::driver::Driver;
use crate::objects::libraries::dnn::geometry::Geometry;
use crate::objects::libraries::dnn::{Convolution, Description, Layout};
use crate::objects::libraries::element::{Element, Numbers};

/// A convolution with its operands' layouts, which fit.
pub(super) struct Problem {
    pub(super) x: Layout,
    pub(super) w: Layout,
    pub(super) y: Layout,
    pub(super) geometry: Geometry,
    pub(super) groups: usize,
    /// Of all three operands.
    pub(super) element: Element,
    /// The type in which it sums, as the program asks for it.
    pub(super) sums: Numbers,
}

/// Handles of the descriptors of a convolution.
#[derive(Clone, Copy)]
pub(super) struct Handles {
    pub(super) x: usize,
    pub(super) w: usize,
    pub(super) convolution: usize,
    pub(super) y: usize,
}

/// What an algorithm does, whatever its number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// A product of matrices that are not formed.
    Implicit,
    /// The same with offsets that were computed before.
    Precomputed,
    /// A product of matrices that are formed in the workspace.
    Explicit,
    Fourier,
    FourierOfTiles,
    Winograd,
    WinogradInSteps,
    /// A number that has no code in the library.
    Missing,
}

impl Problem {
    /// The convolution that these descriptors describe.
    pub(super) fn of(driver: &Driver, handles: Handles) -> Result<Self, Code> {
        let (x, y) = (tensor_of(driver, handles.x)?, tensor_of(driver, handles.y)?);
        let w = match driver.dnn_descriptions.get(handles.w) {
            Some(Description::Filter(Some(layout))) => layout.clone(),
            _ => return Err(BAD_PARAM),
        };
        let (Convolution { steps, flipped, compute }, groups) = match driver.dnn_descriptions.get(handles.convolution) {
            Some(Description::Convolution(Some(convolution), groups)) => (convolution.clone(), *groups),
            _ => return Err(BAD_PARAM),
        };
        let rank = x.dims.len();
        if w.dims.len() != rank || y.dims.len() != rank || steps.pads.len() + 2 != rank {
            return Err(BAD_PARAM);
        }
        let fits = x.dims[1] == w.dims[1] * groups && w.dims[0].is_multiple_of(groups);
        let [input, window, output] = [&x, &w, &y].map(|layout| layout.dims[2..].to_vec());
        let expected = Geometry::expected(&input, &window, &steps).ok_or(BAD_PARAM)?;
        if !fits || x.dims[0] != y.dims[0] || w.dims[0] != y.dims[1] {
            return Err(BAD_PARAM);
        }
        if !(4..=5).contains(&rank) || output != expected {
            return Err(NOT_SUPPORTED);
        }
        let element = element(&x, &w, &y, compute)?;
        let sums = match compute {
            0 => Numbers::F32,
            1 => Numbers::F64,
            _ => Numbers::F16,
        };
        let geometry = Geometry { input, window, output, steps, flipped };
        Ok(Self { x, w, y, geometry, groups, element, sums })
    }

    /// The bytes of workspace that a method wants; an error if it cannot do this convolution. How many the real library wants is not
    /// documented: these are of the order that its descriptions of the algorithms name.
    pub(super) fn workspace(&self, method: Method) -> Result<usize, Code> {
        let Geometry { window, input, steps, .. } = &self.geometry;
        let size = self.element.size() as usize;
        let all = |sizes: &[usize], n: usize| sizes.iter().all(|&size| size == n);
        let (in_plane, is_plain) = (window.len() == 2, all(&steps.strides, 1) && all(&steps.dilations, 1));
        let is_narrow = self.sums == Numbers::F16;
        let is_single = matches!(self.element, Element::F32 | Element::F16) && !is_narrow;
        // The transformed operands.
        let transformed = 8 * (self.x.count() + self.w.count() + self.y.count());
        let taps: usize = window.iter().product();
        let is_small = |d: usize| input[d] + 2 * steps.pads[d] <= 256 && window[d] > steps.pads[d];
        let (can, bytes) = match method {
            Method::Implicit => (true, 0),
            Method::Precomputed => (true, 4 * self.w.dims[1] * taps),
            Method::Explicit => {
                let places: usize = self.geometry.output.iter().product();
                (all(&steps.dilations, 1) && in_plane, size * self.w.dims[1] * taps * places)
            }
            Method::Fourier => (is_single && in_plane && is_plain && (0..2).all(is_small), transformed),
            Method::FourierOfTiles => (!is_narrow && self.element != Element::Bf16 && is_plain, transformed),
            Method::Winograd => (is_single && in_plane && is_plain && all(window, 3), transformed),
            Method::WinogradInSteps => {
                let fits = all(window, 3) || all(window, 5) && !is_narrow;
                let has_type = matches!(self.element, Element::F32 | Element::F16);
                (has_type && in_plane && is_plain && fits, transformed)
            }
            Method::Missing => (false, 0),
        };
        if can { Ok(bytes) } else { Err(NOT_SUPPORTED) }
    }
}

/// The type of all operands, if convolutions of it exist with sums of the type `compute`.
fn element(x: &Layout, w: &Layout, y: &Layout, compute: u32) -> Result<Element, Code> {
    const INT8: u32 = 3;
    if [x, w].iter().any(|layout| layout.data_type == INT8) {
        return refuse("convolutions of cuDNN with 8-bit integers");
    }
    if w.data_type != x.data_type || y.data_type != x.data_type {
        return Err(BAD_PARAM);
    }
    let element = x.element().ok_or(NOT_SUPPORTED)?;
    match (element, compute) {
        (Element::F32 | Element::F16 | Element::Bf16, 0) | (Element::F64, 1) | (Element::F16, 2) => Ok(element),
        _ => Err(NOT_SUPPORTED),
    }
}
