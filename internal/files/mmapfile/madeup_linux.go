package mmapfile

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

// kernelFS are the types (statfs(2)) of the file systems in which the kernel makes the
// contents of regular files when they are read.
var kernelFS = []uint32{
	0x00009fa0, // proc
	0x62656572, // sysfs
	0x64626720, // debugfs
	0x74726163, // tracefs
	0x73636673, // securityfs
	0x0027e0eb, // cgroup
	0x63677270, // cgroup2
	0x07655821, // resctrl
	0x62656570, // configfs
	0x6165676c, // pstore
	0xcafe4a11, // bpf
	0xde5e81e4, // efivarfs
	0xf97cff8c, // selinuxfs
	0x43415d53, // smackfs
	0x42494e4d, // binfmt_misc
	0x6e736673, // nsfs
	0x19800202, // mqueue
	0x65735543, // fusectl
}

// MadeUp reports whether the kernel makes the contents of a file, by its descriptor, which need not be one for reading. A file of which that cannot be
// told counts.
func MadeUp(fd int) bool {
	var st unix.Statfs_t
	for {
		if err := unix.Fstatfs(fd, &st); err != unix.EINTR {
			return err != nil || slices.Contains(kernelFS, uint32(st.Type))
		}
	}
}

func madeUp(f *os.File) bool {
	raw, err := f.SyscallConn()
	made := true
	return err != nil || raw.Control(func(fd uintptr) { made = MadeUp(int(fd)) }) != nil || made
}
