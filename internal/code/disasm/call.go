package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// A CallSite is the call instruction before a return address.
type CallSite struct {
	Len    int    // in bytes, including the prefixes that belong to it
	Target uint64 // of a direct call
	Direct bool
}

// CallBefore reports whether a call instruction ends exactly at ra, which makes a value
// found on a stack a likely return address. ra is a code pointer like Decode's pc. code
// contains the bytes that end at ra; at most MaxLen+1 of them are used, and fewer are
// enough for a short call. If the bytes can be read as several calls, a direct call to a
// nearby target is preferred, then the longest indirect one. If calls have a delay slot, ra
// is after it. CallBefore does not allocate.
func CallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	switch familyOf(a) {
	case arch.FamilyX86:
		if m := x86ModeOf(a); m != nil {
			return m.callBefore(a, code, ra)
		}
	case arch.FamilyS390:
		return s390CallBefore(a, code, ra)
	case arch.FamilyPPC:
		return ppcCallBefore(a, code, ra)
	case arch.FamilyARM64:
		return arm64CallBefore(a, code, ra)
	case arch.FamilyARM:
		return armCallBefore(a, code, ra)
	case arch.FamilyRISCV:
		return riscvCallBefore(a, code, ra)
	case arch.FamilyMIPS:
		return mipsCallBefore(a, code, ra)
	case arch.FamilyLoongArch:
		return loongCallBefore(a, code, ra)
	case arch.FamilyM68K:
		return m68kCallBefore(a, code, ra)
	case arch.FamilySPARC:
		return sparcCallBefore(a, code, ra)
	case arch.FamilyAlpha:
		return alphaCallBefore(a, code, ra)
	case arch.FamilyHPPA:
		return hppaCallBefore(a, code, ra)
	}
	return CallSite{}, false
}
