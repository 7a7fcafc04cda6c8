package minidump

// Held is what a public type embeds, under an unexported name, to let the rooms of this
// module get at its File by Of. A program outside can neither name nor call anything
// of it.
type Held struct{ f *File }

// Hold returns the Held of a file.
func Hold(f *File) Held { return Held{f} }

func (h *Held) held() *File { return h.f }

// A Holder has a Held embedded. It must not be nil.
type Holder interface{ held() *File }

// Of returns the file that h holds.
func Of(h Holder) *File { return h.held() }
