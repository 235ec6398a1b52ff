//! Where readings of GPUs come from.
