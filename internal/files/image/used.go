package image

// usedWith records that a file is needed together with the image.
func (im *Image) usedWith(path string) {
	im.warnMu.Lock()
	im.with = append(im.with, path)
	im.warnMu.Unlock()
}

// Files lists the files that were used of a module so far: its own, separate debug files with those that they share
// or that were split from them, and symbol files. Nothing may use the image meanwhile.
func (im *Image) Files() []string {
	if im == nil {
		return nil
	}
	var list []string
	if im.path != "" && !im.bare {
		list = append(list, im.path)
	}
	im.warnMu.Lock()
	list = append(list, im.with...)
	im.warnMu.Unlock()
	list = append(list, im.knownDebug().Files()...)
	for _, s := range []*symbolFile{im.symbols.pdb, im.symbols.sym, im.symbols.fetched.Load()} {
		if s != nil {
			list = append(list, s.path)
		}
	}
	return list
}
