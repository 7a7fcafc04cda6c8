package debuginfod

import (
	"errors"
	"io/fs"
	"os"

	"github.com/corewalk/corewalk/internal/files/debuginfod/settings"
)

// openTree opens a file below the directory of a file: URL. The directory has the paths of
// the web API: buildid/BUILDID/debuginfo.
func openTree(root, path string) (body, error) {
	f, err := settings.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, rerr := os.Stat(root + "/"); rerr != nil { // not mounted or misspelled; says nothing about the file
			return body{}, &failure{err: rerr, down: true}
		}
	}
	if err != nil {
		return body{}, err
	}
	st, err := f.Stat()
	if err != nil {
		f.Close()
		return body{}, err
	}
	return body{f, st.Size()}, nil
}
