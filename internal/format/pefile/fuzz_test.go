package pefile

import "testing"

// touch calls every method of a file.
func touch(f *File) {
	for i := range f.Sections {
		f.SectionData(&f.Sections[i])
		f.SectionAt(f.Sections[i].RVA)
	}
	n := 0
	for e := range f.Exports() {
		if n++; n > 100 {
			break
		}
		f.ExportAt(e.RVA)
	}
	f.ExportName()
	for s := range f.Symbols() {
		if n++; n > 200 {
			break
		}
		f.SymbolAt(s.RVA)
	}
	f.CodeView()
	f.CodeID()
	f.Pdata()
	f.At(f.Entry)
}

func FuzzParse(f *testing.F) {
	for _, bits := range []int{32, 64} {
		file, memory := sample(bits).build()
		f.Add(file)
		f.Add(memory)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if p, err := Parse(data); err == nil {
			touch(p)
		}
		if p, err := ParseMemory(data); err == nil {
			touch(p)
		}
	})
}
