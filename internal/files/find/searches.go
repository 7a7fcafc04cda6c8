package find

// Searches reports whether there are search directories or directories of a symbol path.
func (f *Finder) Searches() bool {
	return f != nil && len(f.opts.Search)+len(f.opts.SymbolDirs) > 0
}
