package disasm

import "github.com/corewalk/corewalk/unwind/arch"

// s390CallBefore finds the call that ends where code ends: brasl, bras, basr or bas that
// saves its return address in r14. Direct calls to nearby targets are preferred, then
// longer ones.
func s390CallBefore(a *arch.Arch, code []byte, ra uint64) (CallSite, bool) {
	if ra&1 != 0 {
		return CallSite{}, false
	}
	for _, n := range [...]int{6, 4, 2} {
		if len(code) < n {
			continue
		}
		b := code[len(code)-n:]
		if !s390MayCall(b) || s390Len(b[0]) != n {
			continue
		}
		var in Inst
		if err := decodeInto(&in, a, b, a.Truncate(ra-uint64(n))); err == nil && in.Kind.IsCall() {
			return CallSite{Len: n, Target: in.Target, Direct: in.Kind == Call}, true
		}
	}
	return CallSite{}, false
}

// s390MayCall reports whether b begins like an instruction that saves its return address in
// r14.
func s390MayCall(b []byte) bool {
	if b[1]>>4 != s390LR {
		return false
	}
	switch b[0] {
	case 0x05, 0x0d, 0x0c, 0x45, 0x4d:
		return true
	case 0xa7, 0xc0:
		return b[1]&15 == 5
	}
	return false
}
