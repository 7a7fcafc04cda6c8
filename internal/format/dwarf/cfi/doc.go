// Package cfi reads call frame information: .eh_frame with or without its .eh_frame_hdr
// (Linux Standard Base Core, section 10.6,
// https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/ehframechpt.html)
// and .debug_frame (DWARF 5, section 6.4, https://dwarfstd.org/dwarf5std.html).
//
// The standard library has no reader for it. This one looks up one row at a time. Opening a
// Table reads no more than a header. A lookup searches .eh_frame_hdr's table in place, and
// executes one FDE's program into a Row that the caller reuses, without allocating. If
// there is no usable header, the first lookup builds a sorted index.
//
// A Table is safe for concurrent use; a Row is not.
package cfi
