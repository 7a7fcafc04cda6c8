package sandbox

import "golang.org/x/sys/unix"

const auditArch, otherMode = unix.AUDIT_ARCH_I386, 0

const mmapCall, fcntlCall = unix.SYS_MMAP2, unix.SYS_FCNTL64

var allowedHere = []uint32{unix.SYS_FSTAT64, unix.SYS_FSTATFS64, unix.SYS_FSTATAT64, unix.SYS__LLSEEK, unix.SYS_FTRUNCATE64, unix.SYS_SIGRETURN,
	unix.SYS_GETUID32, unix.SYS_GETEUID32, unix.SYS_GETGID32, unix.SYS_GETEGID32, unix.SYS_SET_THREAD_AREA, unix.SYS_TIME,
	unix.SYS_FUTEX_TIME64, unix.SYS_CLOCK_GETTIME64, unix.SYS_CLOCK_NANOSLEEP_TIME64}

// Go's runtime uses the older number of fcntl.
var checkedHere = []checked{{unix.SYS_FCNTL, fcntlTests}}

var deniedHere = []uint32{unix.SYS_FORK, unix.SYS_VFORK, unix.SYS_SOCKETCALL, unix.SYS_IPC, unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT,
	unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_CHOWN32, unix.SYS_LCHOWN, unix.SYS_FCHOWN32, unix.SYS_LINK, unix.SYS_SYMLINK, unix.SYS_MKNOD,
	unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_TRUNCATE64, unix.SYS_SETUID32, unix.SYS_SETGID32}
