package find

// Searches reports whether there are directories to search, or of a symbol path, which
// may have files of any kind.
func (f *Finder) Searches() bool {
	return f != nil && len(f.opts.Search)+len(f.opts.SymbolDirs) > 0
}
