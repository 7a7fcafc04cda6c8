package find

// releaseFiles say which system it is (os-release(5)), in the order in which they count.
var releaseFiles = [...]string{"etc/os-release", "usr/lib/os-release"}

// maxRelease is how much is read of such a file, in bytes.
const maxRelease = 16 << 10

// Release returns what the system says of itself that the paths in the dump are looked up in (os-release(5)): that of the first
// sysroot with such a file, or this machine's own if there are no sysroots; nil if there is none.
func (f *Finder) Release() []byte {
	roots := f.sysroots()
	if len(f.opts.Sysroots) == 0 {
		roots = []string{"/"}
	}
	for _, root := range roots {
		for _, name := range releaseFiles {
			if data, _, err := f.Read(f.within(root, name), maxRelease); err == nil {
				return data
			}
		}
	}
	return nil
}
