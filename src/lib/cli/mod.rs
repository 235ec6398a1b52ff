//! The command line: one folder a tool.

pub mod dump;
