// Package corestate opens dumps of dead processes as an unwind.ProcessState. An ELFCore
// is a core file of Linux, NetBSD, OpenBSD or FreeBSD, of gdb's gcore, of qemu-user or of
// lldb. A Minidump is a minidump or a microdump.
//
// A core has the layout of an ELF file (System V gABI) of type ET_CORE:
// PT_NOTE segments hold what the kernel knew of the process and its threads
// (include/linux/elfcore.h, fs/binfmt_elf.c of the kernel), PT_LOAD segments its
// memory. If a PT_LOAD has fewer bytes in the file than in memory, the rest is "not in
// the dump"; it is never taken for zeros.
//
// Open reads the program headers and the notes. Everything else is decoded when it is
// needed, from the mapped file.
package corestate
