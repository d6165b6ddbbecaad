//! cuDNN: descriptors of operands, which the program fills piece by piece, and its arithmetic on device memory.

pub mod convolution;
pub mod geometry;
pub mod pointwise;
pub mod reduction;
pub mod tensor;

use crate::objects::libraries::element::Element;

/// A handle of cuDNN.
pub struct Handle {
    pub context: usize,
    pub stream: usize,
}

/// How a tensor, or a filter, is stored.
#[derive(Debug, Clone)]
pub struct Layout {
    /// A `cudnnDataType_t`.
    pub data_type: u32,
    /// The batch, the channels (of a filter: those of the output and those of the input), and the sizes in space.
    pub dims: Vec<usize>,
    /// Elements from one index of a dimension to the next.
    pub strides: Vec<i64>,
}

impl Layout {
    /// The type of the elements, if it is supported.
    pub fn element(&self) -> Option<Element> {
        match self.data_type {
            0 => Some(Element::F32),
            1 => Some(Element::F64),
            2 => Some(Element::F16),
            9 => Some(Element::Bf16),
            _ => None,
        }
    }

    pub fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

/// How a window moves over a tensor, for each dimension in space.
#[derive(Debug, Clone, Default)]
pub struct Steps {
    pub pads: Vec<usize>,
    pub strides: Vec<usize>,
    pub dilations: Vec<usize>,
}

/// A convolution.
#[derive(Debug, Clone)]
pub struct Convolution {
    pub steps: Steps,
    /// Whether the filter is flipped, as mathematics has it, and not only moved.
    pub flipped: bool,
    /// The type of the sums, a `cudnnDataType_t`.
    pub compute: u32,
}

/// A pooling.
#[derive(Debug, Clone)]
pub struct Pooling {
    /// A `cudnnPoolingMode_t`.
    pub mode: u32,
    pub propagates_nan: bool,
    pub window: Vec<usize>,
    pub steps: Steps,
}

/// A function of each element.
#[derive(Debug, Clone, Copy)]
pub struct Activation {
    /// A `cudnnActivationMode_t`.
    pub mode: u32,
    pub propagates_nan: bool,
    /// The ceiling, or the steepness.
    pub coefficient: f64,
}

/// What is made of many elements.
#[derive(Debug, Clone, Copy)]
pub struct Reduction {
    /// A `cudnnReduceTensorOp_t`.
    pub operation: u32,
    pub propagates_nan: bool,
    /// Whether the places of the extremes are wanted, too.
    pub with_indices: bool,
}

/// The object of a handle. Each is empty until it is set.
#[derive(Debug)]
pub enum Description {
    Tensor(Option<Layout>),
    Filter(Option<Layout>),
    /// With the groups of channels, which can be set before the rest.
    Convolution(Option<Convolution>, usize),
    Pooling(Option<Pooling>),
    Activation(Option<Activation>),
    Reduction(Option<Reduction>),
}
