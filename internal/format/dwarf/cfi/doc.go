// Package cfi reads call frame information: .eh_frame with or without its
// .eh_frame_hdr (Linux Standard Base Core, section 10.6,
// https://refspecs.linuxfoundation.org/LSB_5.0.0/LSB-Core-generic/LSB-Core-generic/ehframechpt.html)
// and .debug_frame (DWARF 5, section 6.4, https://dwarfstd.org/dwarf5std.html).
//
// The standard library has no reader for it. This one answers one row at a time:
// a Table is opened without reading more than a header, a lookup goes by binary
// search through .eh_frame_hdr's table where it lies, and one FDE's program is
// run into a Row that the caller keeps and reuses, without allocating. Where
// there is no usable header, the first lookup builds one sorted index.
//
// A Table may be used by several goroutines at once; a Row may not.
package cfi
