package debugfind

// Searches reports whether there are directories to search, which may have files of
// any kind.
func (f *Finder) Searches() bool { return f != nil && len(f.opts.Search) > 0 }
