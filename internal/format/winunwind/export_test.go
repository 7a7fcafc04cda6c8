package winunwind

// ExpandPacked returns the codes that packed data of arm64 stands for.
func ExpandPacked(w uint32) ([]byte, error) {
	var p packedData
	err := p.expand(w)
	return p.codes[:p.n], err
}

// CodeSize is how many bytes a code of arm64 takes.
func CodeSize(c byte) int { return codeSize(c) }
