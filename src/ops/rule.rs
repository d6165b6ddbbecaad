//! The rules that calls and results are held to, each listed once: why a contract rejects a call, and what any result satisfies.

use std::fmt;

/// A rule. Two are the same if their ids are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rule {
    /// What signatures, causes and regressions call it. It never changes.
    pub id: &'static str,
    /// What people read: a noun phrase for what breaks it. It may change.
    pub wording: &'static str,
}

impl Rule {
    /// The rule with this id.
    pub fn find(id: &str) -> Option<&'static Self> {
        ALL.iter().copied().find(|rule| rule.id == id)
    }

    /// True if elements break it, which a kernel reads: on CUDA it can assert that they keep to it, but not return an `Err`.
    pub fn is_of_elements(&self) -> bool {
        [&ID, &LABEL].contains(&self)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.wording)
    }
}

/// Defines each rule by its name, its id and, if that is not its id, its wording.
macro_rules! rules {
    ($($name:ident = $id:literal $(=> $wording:literal)?,)*) => {
        $(#[doc = $id] pub static $name: Rule = Rule { id: $id, wording: rules!(@wording $id $($wording)?) };)*

        /// Every rule.
        pub static ALL: &[&Rule] = &[$(&$name),*];
    };
    (@wording $id:literal) => { $id };
    (@wording $id:literal $wording:literal) => { $wording };
}

rules! {
    // Why a call is invalid.
    DIM = "dim out of range",
    INDEX = "index out of range",
    ID = "id out of range",
    LABEL = "label out of range",
    ID_DTYPE = "ids are not integers",
    DTYPE = "candle does not list this dtype for the op",
    SHAPES = "shapes do not match",
    ELEMENTS = "another number of elements" => "a different number of elements",
    BATCH = "a batch that is not one",
    BATCHES = "other batch dimensions" => "different batch dimensions",
    BROADCAST_BATCHES = "batches that do not broadcast",
    PARTS = "parts of different shapes",
    RANK = "wrong number of dimensions",
    MIXED = "inputs of different dtypes",
    RANGE = "a range outside the dimension",
    PART = "the part ends outside the tensor",
    INDICES = "more indices than dimensions",
    DIM_TWICE = "a dimension named twice",
    DIM_RANGE = "a range of dimensions that ends before it starts",
    PERMUTATION = "no permutation of the dimensions" => "not a permutation of the dimensions",
    HOLE = "a hole of any size" => "an inferred dimension that could have any size",
    TOO_MANY = "more elements than memory can have" => "more elements than fit into memory",
    NO_TENSORS = "no tensors",
    ONE_TENSOR = "fewer than two tensors",
    NO_CHUNKS = "no chunks",
    ZERO_STEP = "a step of 0",
    ZERO_FACTOR = "a factor of 0",
    WINDOW = "a window larger than the dimension",
    EMPTY_EXTREME = "an extreme of nothing" => "an extreme of an empty dimension",
    EMPTY_SOURCE = "no element to take values from" => "an empty input to take values from",
    EMPTY_BORDER = "the border of nothing, repeated" => "replication padding of an empty tensor",
    EMPTY_BATCH = "a training batch of nothing" => "an empty training batch",
    SCALE = "a scale that is no positive number" => "a scale that is not a positive number",
    WRITTEN_TWICE = "a place that is written twice" => "an element that is written twice",
    FLOAT_FUNCTION = "a float function of integers",
    LOGARITHM = "the logarithm of integers",
    SOFTMAX = "softmax of integers",
    LOSS = "the loss of integers",
    NORM = "the norm of integers",
    NORMALIZATION = "the normalization of integers",
    VARIANCE = "the variance of integers",
    ATTENTION = "attention of integers",
    OPTIMIZER = "an optimizer of integers",
    RECURRENCE = "a recurrent layer of integers",
    QUANTIZED_PRODUCT = "quantized products of integers",
    PROBABILITY = "a probability outside [0, 1)" => "a probability outside 0 to 1",
    NEGATIVE_EPS = "a negative eps",
    ODD_LAST = "an odd last dimension",
    POOL_ZERO = "a kernel or stride of 0",
    CONV_ZERO = "a stride or number of groups of 0",
    ZERO_DILATION = "a dilation of 0",
    NO_GROUPS = "no groups",
    GROUPS = "groups do not divide the channels",
    SHUFFLED_CHANNELS = "channels are no multiple of the squared factor" => "the squared factor does not divide the channels",
    UNSHUFFLED_SIZES = "height and width are no multiples of the factor" => "the factor does not divide height and width",
    CHANNELS = "the kernel has other channels" => "the kernel has a different number of channels",
    POOL_KERNEL = "the kernel is larger than the input",
    CONV_KERNEL = "the kernel is larger than the padded input",
    PADDING = "the padding overflows",
    NO_OUTPUT = "the padding leaves no output",
    OUTPUT_PADDING = "an output padding not below stride or dilation" => "an output padding that is not smaller than stride or dilation",
    BIAS_SHAPE = "a bias that is not one value per channel",
    BIAS_DTYPE = "a bias of another dtype" => "a bias of a different dtype",
    TABLE_RANK = "a table without exactly two dimensions",
    HIDDEN_SIZE = "a hidden size that differs from the table",
    HEADS = "heads that are no multiple of the key heads" => "a number of heads that is not a multiple of the number of key heads",
    LENGTHS_DTYPE = "lengths that are not a list of u32",
    LENGTHS_COUNT = "lengths of another number of sequences" => "lengths for a different number of sequences",
    LENGTHS_TOTAL = "lengths that are not the totals" => "lengths that do not add up to the number of rows",
    SLOPES = "slopes that are not one f32 per head",
    RIGHT_WINDOW = "a right window without a left one",
    FEWER_KEYS = "fewer keys than queries",
    CACHE_SIZE = "a cache of size 0",
    BLOCKS = "bytes that are not whole blocks",
    EXPERTS_DTYPE = "experts that are not u32",
    ROUTING_DTYPE = "tokens or experts that are not u32",
    EXPERT_WEIGHTS = "weights of experts that are not f32",
    EXPERTS_HALF = "experts that are not f16 or bf16",
    ACTIVATIONS = "activations that are not f32",
    CANARY = "the canary takes `x`",
    // What results satisfy on any input.
    OUTSIDE_RANGE = "outside its range",
    NAN = "NaN of finite values" => "NaN for finite inputs",
    OUT_OF_ORDER = "out of order",
    OUTSIDE_AVERAGE = "outside what is averaged" => "outside the range of what is averaged",
    NO_SOURCE = "none of the sources" => "not one of the source values",
    NOT_ONE = "not adding up to 1" => "probabilities that do not add up to 1",
    // What candle does and does not document.
    NO_TEMPERATURE = "a temperature of 0 or less picks the largest",
    HALVES_AWAY = "halves go away from zero" => "halves are rounded away from zero",
}
