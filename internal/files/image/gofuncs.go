package image

import "strings"

// A GoFunc is a function of Go's runtime that a stack walk cannot step through by call
// frame information alone.
type GoFunc uint8

const (
	GoOther       GoFunc = iota // any other function
	GoSigpanic                  // appears called by the faulting instruction, because the signal handler made it so
	GoAsmcgocall                // calls C on the thread's own stack
	GoCgocallback               // called from C; calls Go on the goroutine's stack
	GoCrosscall2                // called from C; saves the registers that C expects preserved
	GoSystemstack               // calls a function on the thread's own stack
	GoMcall                     // switches from the goroutine to the scheduler
	GoMorestack                 // grows the stack of a function
	GoEntry                     // starts the program or a thread; has no caller
	GoClock                     // calls the kernel's clock, with the stack pointer in a register that C preserves
	GoRacecall                  // calls the race detector in the same way, perhaps with another register
	GoSPInBP                    // makes a call, with the stack pointer saved in BP
	GoSigtramp                  // the signal handler, whose call frame information says it has no caller where there is a link register
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
	case "runtime.rt0_go", "runtime.clone": // clone's calls are made by the new thread
		return GoEntry
	case "runtime.sigtramp", "sigtramp": // without a package on big-endian PowerPC, where it has a descriptor
		return GoSigtramp
	case "runtime.nanotime1", "runtime.walltime", "time.now":
		return GoClock
	case "racecall":
		return GoRacecall
	case "runtime.sigfwd", "runtime.switchToCrashStack0":
		return GoSPInBP
	}
	return GoOther
}

// GoFunc returns which function of Go's runtime begins at an address of the file. It
// returns GoOther for programs without a Go runtime.
//
// An assembly function has a wrapper with the calling convention of compiled code, through
// which a walk can step as usual. sigpanic is a compiled function.
func (im *Image) GoFunc(entry uint64) GoFunc {
	if im == nil {
		return GoOther
	}
	im.goOnce.Do(func() { im.goFuncs = im.findGoFuncs() })
	if fn, ok := im.goFuncs[entry]; ok {
		return fn
	}
	if f, ok := im.GoFuncAt(entry); ok && f.Entry == entry {
		if fn := goFuncNamed(f.Name()); f.Asm() == (fn != GoSigpanic) {
			return fn
		}
	}
	return GoOther
}

// findGoFuncs reads the symbols once; a stripped program has none, or few. Of an assembly function and its wrapper, the function
// itself is the symbol with .abi0.
func (im *Image) findGoFuncs() map[uint64]GoFunc {
	if im.elf.Section(".gopclntab") == nil && im.elf.Section(".data.rel.ro.gopclntab") == nil {
		return nil
	}
	compiled, asm := map[string]uint64{}, map[string]uint64{}
	for _, t := range im.symTabs() {
		for _, prefix := range []string{"runtime.", "crosscall2", "time.now", "racecall", "sigtramp"} {
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
			break // the fullest table has all of them
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
