package find

import "path/filepath"

// releaseFiles say which system it is (os-release(5)), in the order in which they count.
var releaseFiles = [...]string{"etc/os-release", "usr/lib/os-release"}

// maxRelease is how much is read of such a file, in bytes.
const maxRelease = 16 << 10

// Release returns what the system says of itself (os-release(5)) that has a file where the process had it, at path: the sysroot
// below which it was found, or this machine. It returns nil if the file was found elsewhere, or the system says nothing.
func (f *Finder) Release(file, path string) []byte {
	for _, root := range append(f.sysroots(), "/") {
		if file != f.within(root, path) && file != filepath.Join(root, path) {
			continue
		}
		for _, name := range releaseFiles {
			if data, _, err := f.Read(f.within(root, name), maxRelease); err == nil {
				return data
			}
		}
		return nil
	}
	return nil
}
