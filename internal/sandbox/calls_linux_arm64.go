package sandbox

import "golang.org/x/sys/unix"

const auditArch, otherMode = unix.AUDIT_ARCH_AARCH64, 0

const mmapCall, fcntlCall = unix.SYS_MMAP, unix.SYS_FCNTL

var allowedHere = []uint32{unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_FSTATAT, unix.SYS_LSEEK, unix.SYS_FTRUNCATE}

var checkedHere []checked

var deniedHere = []uint32{unix.SYS_ACCEPT, unix.SYS_KEXEC_FILE_LOAD}
