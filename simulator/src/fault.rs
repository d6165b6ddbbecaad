//! What a kernel did wrong and where: the values of the crate that the driver and its readers share.

pub use device_record::{
    Assertion, Detail, Fault, How, Kind, Location, Missing, Moment, Near, Note, Place, Source, Thread, Whom,
};

use crate::isa;

impl From<isa::Space> for device_record::Space {
    fn from(space: isa::Space) -> Self {
        match space {
            isa::Space::Global => Self::Global,
            isa::Space::Shared => Self::Shared,
            isa::Space::Local => Self::Local,
            isa::Space::Param => Self::Param,
            isa::Space::Generic => Self::Generic,
        }
    }
}
