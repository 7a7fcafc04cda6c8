package image

import "strings"

// A GoFunc is a function of Go's runtime that a stack cannot be walked through
// by its call frame information alone.
type GoFunc uint8

const (
	GoOther       GoFunc = iota // any other function
	GoSigpanic                  // the signal handler makes it look called by the faulting instruction
	GoAsmcgocall                // calls C on the thread's own stack
	GoCgocallback               // is called by C, and calls Go on the goroutine's stack
	GoCrosscall2                // is called by C, and keeps the registers that C wants back
	GoSystemstack               // calls a function on the thread's own stack
	GoMcall                     // leaves the goroutine for the scheduler
	GoMorestack                 // leaves a function whose stack is too small
	GoEntry                     // begins the program, or a thread; nobody called it
	GoSPInR12                   // calls C with the stack pointer kept in R12
	GoSPInBP                    // calls with the stack pointer kept in BP
	GoSigtramp                  // is the signal handler, which says that nobody called it where there is a link register
)

func goFuncNamed(name string) GoFunc {
	switch name {
	case "runtime.sigpanic":
		return GoSigpanic
	case "runtime.asmcgocall":
		return GoAsmcgocall
	case "runtime.cgocallback":
		return GoCgocallback
	case "crosscall2":
		return GoCrosscall2
	case "runtime.systemstack":
		return GoSystemstack
	case "runtime.mcall":
		return GoMcall
	case "runtime.morestack":
		return GoMorestack
	case "runtime.rt0_go", "runtime.clone": // clone's calls are the new thread's
		return GoEntry
	case "runtime.sigtramp":
		return GoSigtramp
	case "runtime.nanotime1", "runtime.walltime", "time.now", "racecall":
		return GoSPInR12
	case "runtime.sigfwd", "runtime.switchToCrashStack0":
		return GoSPInBP
	}
	return GoOther
}

// GoFunc tells which function of Go's runtime begins at an address of the file;
// GoOther in programs without one, and where it has no symbols.
func (im *Image) GoFunc(entry uint64) GoFunc {
	if im == nil {
		return GoOther
	}
	im.goOnce.Do(func() { im.goFuncs = im.findGoFuncs() })
	return im.goFuncs[entry]
}

// findGoFuncs reads the symbols once. A function in assembly has a wrapper for
// the calling convention of compiled code, which is walked through as any other:
// the function itself is the one named .abi0. sigpanic is compiled.
func (im *Image) findGoFuncs() map[uint64]GoFunc {
	if im.elf.Section(".gopclntab") == nil && im.elf.Section(".data.rel.ro.gopclntab") == nil {
		return nil
	}
	compiled, asm := map[string]uint64{}, map[string]uint64{}
	for _, t := range im.symTabs() {
		for _, prefix := range []string{"runtime.", "crosscall2", "time.now", "racecall"} {
			for s := range t.WithPrefix(prefix) {
				name, abi0 := strings.CutSuffix(s.Name(), ".abi0")
				switch {
				case goFuncNamed(name) == GoOther:
				case abi0:
					asm[name] = s.Value
				default:
					compiled[name] = s.Value
				}
			}
		}
		if len(compiled)+len(asm) > 0 {
			break // the fullest table has them all
		}
	}
	found := map[uint64]GoFunc{}
	for name, entry := range compiled {
		if asm[name] == 0 || name == "runtime.sigpanic" {
			found[entry] = goFuncNamed(name)
		}
	}
	for name, entry := range asm {
		if name != "runtime.sigpanic" {
			found[entry] = goFuncNamed(name)
		}
	}
	return found
}
