//go:build unix

package kept

import (
	"io/fs"
	"os"
	"syscall"
)

// careful are the flags with which a link is not followed, and a pipe does not make open(2)
// wait.
const careful = syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_NOCTTY

// trusted reports whether a file or directory belongs to this user and nobody else may write
// to it.
func trusted(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// onDisk is how many bytes a file takes on the disk.
func onDisk(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Blocks) * 512
	}
	return info.Size()
}
