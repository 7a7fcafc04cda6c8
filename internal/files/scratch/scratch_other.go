//go:build !linux

package scratch

import "os"

// Make makes a directory in parent, "" for os.TempDir, that only the user may read. pattern is that of os.MkdirTemp.
func Make(parent, pattern string) (*Dir, error) {
	path, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return nil, err
	}
	return record(&Dir{Path: path}), nil
}
