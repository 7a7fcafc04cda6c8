package sandbox

import "golang.org/x/sys/unix"

// otherMode is the bit in the numbers of x32's system calls.
const auditArch, otherMode = unix.AUDIT_ARCH_X86_64, 0x40000000

const mmapCall, fcntlCall = unix.SYS_MMAP, unix.SYS_FCNTL

var allowedHere = []uint32{unix.SYS_FSTAT, unix.SYS_FSTATFS, unix.SYS_NEWFSTATAT, unix.SYS_LSEEK, unix.SYS_FTRUNCATE, unix.SYS_TIME}

// archSetFS sets the register of a thread's local storage.
const archSetFS = 0x1002

var checkedHere = []checked{{unix.SYS_ARCH_PRCTL, []test{{arg: 0, any: []uint32{archSetFS}}}}}

var deniedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_ACCEPT, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_KEXEC_FILE_LOAD,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_MKNOD, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT}
