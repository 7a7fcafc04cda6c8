package arch

// x86-64 Linux has a page at a fixed address with three calls of the system, which programs reach like functions. The kernel carries them out when
// the page is called; nothing runs there, and dumps have zeros (Linux, arch/x86/entry/vsyscall).
const (
	vsyscallPage = 0xffffffffff600000
	vsyscallSize = 0x1000
	vsyscallStep = 0x400
)

// Vsyscall reports whether an address is in that page, and which call it is: "gettimeofday"; "" within the page where no call begins.
func (a *Arch) Vsyscall(addr Address) (name string, ok bool) {
	off := addr - vsyscallPage
	if a != AMD64 || off >= vsyscallSize {
		return "", false
	}
	if names := [...]string{"gettimeofday", "time", "getcpu"}; off%vsyscallStep == 0 && off/vsyscallStep < uint64(len(names)) {
		return names[off/vsyscallStep], true
	}
	return "", true
}
