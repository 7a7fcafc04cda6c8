package image

// GoPanicEntry is the address of runtime.sigpanic in a Go program: the signal
// handler makes it look as if the faulting instruction had called it, so its
// return address is that instruction's own. 0 in other programs.
func (im *Image) GoPanicEntry() uint64 {
	if im == nil {
		return 0
	}
	im.goOnce.Do(func() {
		if im.elf.Section(".gopclntab") == nil && im.elf.Section(".data.rel.ro.gopclntab") == nil {
			return
		}
		if s, ok := im.SymbolByName("runtime.sigpanic"); ok {
			im.goPanic = s.Value
		}
	})
	return im.goPanic
}
