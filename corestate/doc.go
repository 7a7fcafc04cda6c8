// Package corestate opens the dumps of dead processes and presents them as an
// unwind.ProcessState: ELF core files of Linux kernels, of gdb's gcore, of
// qemu-user, of lldb, and of NetBSD; and minidumps and microdumps (Minidump), which
// internal/format/minidump reads.
//
// The layout of a core is that of an ELF file (System V gABI) of type ET_CORE:
// PT_NOTE segments hold what the kernel knew of the process and its threads
// (include/linux/elfcore.h, fs/binfmt_elf.c of the kernel), PT_LOAD segments its
// memory. A PT_LOAD that has fewer bytes in the file than in memory was left out
// of the dump from there on: such memory is "not in the dump", never zeros.
//
// Opening reads the program headers and goes over the notes; everything else is
// decoded when it is asked for, from slices of the mapped file.
package corestate
