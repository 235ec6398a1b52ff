//! `.pt` files: the zip archives that `torch.save` writes, read and written without Python.
//!
//! A file is opened in three layers: [`archive`](Archive) maps it and finds its records, the pickle
//! machine runs `data.pkl` into an arena of small copyable handles, and [`Ref`] is the view a caller
//! walks. Lists of numbers are never built: the machine notes where their opcodes lie and
//! [`Numbers`] decodes the ones that are asked for straight into a typed vector.
//!
//! # Threats
//!
//! A file is untrusted. What it can do, and what stands against it:
//!
//! | threat | defence |
//! | --- | --- |
//! | run code | nothing is ever called: globals are names, `REDUCE`/`NEWOBJ`/`BUILD` build inert records |
//! | exhaust memory | [`Limits::arena_bytes`] over everything the pickle builds, [`Limits::inflated_bytes`], sparse memo |
//! | claim more than there is | every length is checked against the bytes left before anything is reserved |
//! | expand (`[x, x]` forty times, a stride of 0) | shared nodes stay shared; [`Limits::elements`] bounds what a tensor view may produce |
//! | overflow the stack | the machine is a loop; walks carry a depth and stop at [`Limits::depth`] |
//! | point outside | zip offsets, storage sizes and the last element of every view are checked |
//! | tear under the reader | a file that shrinks while mapped raises `SIGBUS`; the tools turn it into "try again" |
//!
//! Sources: PyTorch's serialization notes and `torch._utils` for the constructors, PEP 307, 3154 and
//! 574 and `pickletools` for the opcodes, APPNOTE.TXT 6.3 for zip.

mod archive;
mod arena;
mod array;
mod dtype;
mod error;
mod file;
mod json;
mod number;
mod object;
mod opcode;
mod pickle;
mod tensor;
mod text;
mod value;
pub mod write;

pub use archive::Archive;
pub use array::Array;
pub use dtype::{Dtype, Elements};
pub use error::{Error, ErrorKind, Foreign};
pub use file::File;
pub use number::{Number, Numbers};
pub use object::Object;
pub use tensor::Tensor;
pub use value::{Kind, Ref};

/// Bounds on what one file may cost. The defaults let every real run through.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of handles and nodes that the pickle machine may build, about 20 to 60 an object.
    /// A step of 10,000 samples with 100-turn conversations needs some 300 MB.
    pub arena_bytes: usize,
    /// Nesting that a walk over the values follows. Python's own recursion limit is 1,000.
    pub depth: usize,
    /// Elements that one tensor or array view may produce beyond what its storage holds: a stride
    /// of 0 turns four bytes into any number of them.
    pub elements: u64,
    /// Bytes that a compressed record may inflate to. `torch.save` stores; repacked files exist.
    pub inflated_bytes: u64,
    /// Bytes of text that one value may be shown as. The longest conversation seen is 2 MB.
    pub shown_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            arena_bytes: 2 << 30,
            depth: 500,
            elements: 64 << 20,
            inflated_bytes: 4 << 30,
            shown_bytes: 64 << 20,
        }
    }
}
