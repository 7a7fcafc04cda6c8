//go:build amd64 || arm64 || 386

package sandbox

import "golang.org/x/sys/unix"

// allowed are the system calls that any argument is allowed for: those of Go's runtime (TestRuntimeCalls compares
// them with its source), and those that read files and write to open or temporary ones. None of them names another
// process. Those that take paths are Landlock's concern; it does not hide whether a file exists, how large it is
// and what its extended attributes are.
var allowed = []uint32{
	// Memory and threads.
	unix.SYS_MUNMAP, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_FUTEX, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP,
	unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_CLOCK_GETTIME, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM, unix.SYS_UNAME,
	unix.SYS_GETPID, unix.SYS_GETPPID, unix.SYS_GETTID, unix.SYS_GETUID, unix.SYS_GETEUID, unix.SYS_GETGID, unix.SYS_GETEGID,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	// Files.
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_PREAD64, unix.SYS_PWRITE64, unix.SYS_CLOSE,
	unix.SYS_GETDENTS64, unix.SYS_READLINKAT, unix.SYS_FACCESSAT, unix.SYS_GETCWD, unix.SYS_GETXATTR,
	unix.SYS_MKDIRAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT,
}

// fcntlTests leave out who gets the signals of a file.
var fcntlTests = []test{{arg: 1, any: []uint32{unix.F_GETFL, unix.F_SETFL, unix.F_GETFD, unix.F_SETFD, unix.F_DUPFD, unix.F_DUPFD_CLOEXEC}}}

// checkedCalls are the system calls that are allowed with some arguments, in the process pid.
func checkedCalls(pid uint32) []checked {
	const (
		thread = unix.CLONE_VM | unix.CLONE_SIGHAND | unix.CLONE_THREAD
		newNS  = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
	)
	// Code that an attacker brings cannot be made executable.
	noExec := test{arg: 2, mask: unix.PROT_EXEC, any: []uint32{0}}
	self := test{arg: 0, any: []uint32{pid}}
	return []checked{
		{unix.SYS_CLONE, []test{{arg: 0, mask: thread | newNS | unix.CLONE_PTRACE, any: []uint32{thread}}}},
		// Without a writing mode O_TRUNC would truncate files that Landlock before version 3 lets be read.
		{unix.SYS_OPENAT, []test{{arg: 2, mask: unix.O_ACCMODE | unix.O_TRUNC, any: []uint32{unix.O_RDONLY, unix.O_WRONLY, unix.O_RDWR,
			unix.O_WRONLY | unix.O_TRUNC, unix.O_RDWR | unix.O_TRUNC}}}},
		{mmapCall, []test{noExec}},
		{unix.SYS_MPROTECT, []test{noExec}},
		{fcntlCall, fcntlTests},
		// The size of the terminal; other requests would type into it.
		{unix.SYS_IOCTL, []test{{arg: 1, any: []uint32{unix.TIOCGWINSZ}}}},
		{unix.SYS_PRCTL, []test{{arg: 0, any: []uint32{unix.PR_SET_VMA}}}}, // names of mappings
		{unix.SYS_TGKILL, []test{self}},
		{unix.SYS_KILL, []test{self}},
	}
}

// denied are system calls that an attacker would want, or that Linux lets a privileged process do. Other calls are
// not there for the process at all; these return an error that says why.
var denied = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP,
	unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_GETFD, unix.SYS_PIDFD_SEND_SIGNAL, unix.SYS_PROCESS_MADVISE,
	unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT4,
	unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG, unix.SYS_RECVFROM, unix.SYS_RECVMSG, unix.SYS_RECVMMSG,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_UNSHARE, unix.SYS_SETNS,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_SYSLOG,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_PERSONALITY, unix.SYS_PRLIMIT64, unix.SYS_SECCOMP,
	unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, unix.SYS_FANOTIFY_INIT,
	unix.SYS_SETUID, unix.SYS_SETGID, unix.SYS_SETRESUID, unix.SYS_SETRESGID, unix.SYS_SETGROUPS, unix.SYS_CAPSET,
	// Landlock does not know of these.
	unix.SYS_FCHMOD, unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWN, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT,
	unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_TRUNCATE, unix.SYS_LINKAT, unix.SYS_SYMLINKAT, unix.SYS_MKNODAT,
}
