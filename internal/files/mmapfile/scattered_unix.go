//go:build unix

package mmapfile

import (
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mayWrite makes whole pages of a private mapping writable.
func mayWrite(data []byte) error { return unix.Mprotect(data, unix.PROT_READ|unix.PROT_WRITE) }

// pageSize is the size in bytes of a page.
func pageSize() uint64 { return uint64(os.Getpagesize()) }

// copyPage makes a page of a writable private mapping a copy of its own, by a write that changes nothing. Another goroutine
// may read it meanwhile.
func copyPage(page []byte) { atomic.AddUint32((*uint32)(unsafe.Pointer(&page[0])), 0) }
