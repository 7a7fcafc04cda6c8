//go:build !unix

package mmapfile

import "errors"

// mayWrite fails: files are not mapped.
func mayWrite([]byte) error { return errors.ErrUnsupported }

func pageSize() uint64 { return 4096 }

func copyPage([]byte) {}
