// Package process tells what a process was started with, and which of it is secret.
package process

import (
	"slices"
	"strings"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/unwind/arch"
)

// Limits on what is read of a process's first stack. The kernel allows arguments and
// environment a quarter of the stack, and single strings of 128 KB.
const (
	maxVector = 1 << 20   // bytes from the auxiliary vector up to the strings
	maxWords  = 1 << 14   // pointers to arguments and variables
	maxString = 128 << 10 // bytes of a string
	maxTotal  = 4 << 20   // bytes of all strings
)

// Started returns the arguments and the environment of a process as the kernel put them at
// the end of its first stack (ELF gABI, "Process Initialization"). Daemons write over the
// strings to show their state (setproctitle): then whole is false, args has what ps shows as
// one string, and env only what is left of variables. ok is false if the stack is not in the
// dump.
//
// The vectors lie below the auxiliary vector, which dumps have a copy of: it is found again
// in memory by its first entries, and the vectors are read backwards from it.
func Started(mem arch.Memory, a *arch.Arch, auxv libstate.Auxv) (args, env []string, whole, ok bool) {
	r := reader{procmem.Reader{Memory: mem, Arch: a}, uint64(a.WordSize), maxTotal}
	at, ok := r.vectorAt(auxv)
	if !ok {
		return nil, nil, false, false
	}
	envp, at, ok := r.pointersBelow(at)
	if !ok {
		return nil, nil, false, false
	}
	argv, _, ok := r.argumentsBelow(at)
	if !ok {
		return nil, nil, false, false
	}
	argv = slices.DeleteFunc(argv, func(at arch.Address) bool { return at == 0 }) // sshd ends them behind the first
	slices.Sort(argv)                                                             // the kernel lays them out as they were given; programs may have put the pointers into another order, as getopt does
	args, env = r.strings(argv), r.strings(envp)
	if r.whole(argv, args, envp) {
		return args, env, true, true
	}
	if args := r.area(argv, envp); args != nil {
		return args, env, true, true
	}
	left := env[:0]
	for i, at := range envp {
		if strings.Contains(env[i], "=") && r.follows(at) {
			left = append(left, env[i])
		}
	}
	title := strings.TrimRight(r.text(argv[0]), " ")
	return []string{title}, left, false, true
}

// whole reports whether the arguments are as the kernel wrote them: each string behind another, and behind the last the
// first variable. Programs may have put variables elsewhere.
func (r *reader) whole(argv []arch.Address, args []string, envp []arch.Address) bool {
	if len(argv) == 0 {
		return true
	}
	end := argv[0]
	for i, at := range argv {
		if at != end {
			return false
		}
		end += uint64(len(args[i])) + 1
	}
	next, ok := r.U8(end)
	return !slices.ContainsFunc(envp, func(at arch.Address) bool { return at > argv[0] && at < end }) && (!ok || next != 0 || slices.Contains(envp, end))
}

// area returns the arguments of a program that made ready to show its state, which takes the pointers away, and has not shown any: they are where the
// kernel wrote them, and the first variable is behind them. nil if that is not proved.
func (r *reader) area(argv, envp []arch.Address) (args []string) {
	if len(argv) < 2 || slices.ContainsFunc(argv[2:], func(at arch.Address) bool { return at != argv[1] }) {
		return nil
	}
	if end, ok := r.U8(argv[1]); !ok || end != 0 {
		return nil
	}
	at := argv[0]
	for range argv {
		text := r.text(at)
		if text == "" {
			return nil
		}
		args = append(args, text)
		at += uint64(len(text)) + 1
	}
	if len(envp) == 0 || at != slices.Min(envp) {
		return nil
	}
	return args
}

// follows reports whether a string begins behind the end of another.
func (r *reader) follows(at arch.Address) bool {
	before, ok := r.U8(at - 1)
	return ok && before == 0
}

// smallestPage is the size of a page, or a part of a page, in bytes.
const smallestPage = 4096

// maxMisses is how many words may not be there before pages are skipped. A dump's memory may
// end in the middle of a page.
const maxMisses = 64

// vectorAt returns the address of the auxiliary vector on the stack. It lies below the
// strings, of which AT_EXECFN is one.
func (r *reader) vectorAt(auxv libstate.Auxv) (arch.Address, bool) {
	end, ok := auxv.Get(libstate.ATExecFn)
	if !ok {
		end, ok = auxv.Get(libstate.ATRandom)
	}
	if !ok || len(auxv) < 2 {
		return 0, false
	}
	end &^= r.word - 1
	want := []uint64{auxv[0].Key, auxv[0].Value, auxv[1].Key, auxv[1].Value}
	misses := 0
	for at := end - r.word; at >= r.word && end-at < maxVector; at -= r.word {
		v, err := r.ReadWord(at)
		if err != nil {
			if misses++; misses > maxMisses {
				at &^= smallestPage - 1 // nor is the rest of the page there
			}
			continue
		}
		if v != want[0] {
			continue
		}
		if got, _ := r.Words(at, len(want)); slices.Equal(got, want) {
			return at, true
		}
	}
	return 0, false
}

type reader struct {
	procmem.Reader
	word uint64
	left int // bytes of strings that may still be read
}

// pointersBelow returns the pointers of the vector that ends below at, with a null pointer,
// and where the one below it ends.
func (r *reader) pointersBelow(at arch.Address) (list []arch.Address, below arch.Address, ok bool) {
	at -= r.word
	if v, err := r.ReadWord(at); err != nil || v != 0 {
		return nil, 0, false
	}
	for len(list) < maxWords {
		v, err := r.ReadWord(at - r.word)
		if err != nil {
			return nil, 0, false
		}
		if v == 0 {
			slices.Reverse(list)
			return list, at, true
		}
		at -= r.word
		list = append(list, v)
	}
	return nil, 0, false
}

// argumentsBelow is pointersBelow for the arguments, whose number lies below them.
func (r *reader) argumentsBelow(at arch.Address) (list []arch.Address, below arch.Address, ok bool) {
	at -= r.word
	if v, err := r.ReadWord(at); err != nil || v != 0 {
		return nil, 0, false
	}
	for len(list) < maxWords {
		v, err := r.ReadWord(at - r.word)
		if err != nil {
			return nil, 0, false
		}
		if v == uint64(len(list)) {
			slices.Reverse(list)
			return list, at, true
		}
		at -= r.word
		list = append(list, v)
	}
	return nil, 0, false
}

// strings reads the strings that pointers point to; "" for what the dump does not have.
func (r *reader) strings(list []arch.Address) []string {
	out := make([]string, len(list))
	for i, at := range list {
		out[i] = r.text(at)
	}
	return out
}

func (r *reader) text(at arch.Address) string {
	text, _ := r.CString(at, min(maxString, r.left))
	r.left -= len(text)
	return string(text)
}
