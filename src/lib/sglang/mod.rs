//! sglang's metrics: fetched, parsed, named as the streams name them.
