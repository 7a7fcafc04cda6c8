package arch

// A Family is the set of architectures that share an instruction set and so a decoder.
type Family uint8

// Families. The zero value means none.
const (
	NoFamily Family = iota
	FamilyX86
	FamilyARM64
	FamilyARM
	FamilyPPC
	FamilyRISCV
	FamilyS390
	FamilyMIPS
	FamilyLoongArch
	FamilySPARC
	FamilyM68K
	FamilyAlpha
	FamilyHPPA
)
