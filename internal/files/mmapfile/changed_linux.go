package mmapfile

import "syscall"

// changed is when the inode last changed, in nanoseconds since 1970.
func changed(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
