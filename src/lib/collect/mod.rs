//! Records of many producers to a run's streams: sockets, bounded buffers, flushes.
