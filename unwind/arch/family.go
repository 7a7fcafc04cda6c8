package arch

// A Family groups the architectures that share their instructions: one decoder
// reads the code of all of them.
type Family uint8

// The families. The zero value is none.
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
