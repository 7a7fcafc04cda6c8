package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/lazy"
	"github.com/corewalk/corewalk/report"
)

// titled puts a fault inside the C library into the words of the program's call: a heap that malloc found corrupted,
// a string function that was given a bad pointer. The fault itself is the library's business. The frames are those from the one that made it.
func titled(v verdict, f *fault, frames []report.Frame) verdict {
	if !dataFault(v.kind) {
		return v
	}
	if name, ok := allocating(frames); ok {
		what := "heap corrupted"
		if freeing(strings.TrimPrefix(name, "mi_")) != "" {
			what += " or a bad pointer passed"
		}
		return verdict{report.CrashHeapCorruption, what + ", noticed in " + name + " (" + v.reason + ")"}
	}
	if name, args := stringFunction(frames, f.blame); name != "" {
		v.reason = callWords(name, args, v, f)
	}
	return v
}

// dataFault reports whether the program died of an access to memory that was not there or not allowed.
func dataFault(kind string) bool {
	switch kind {
	case report.CrashNullRead, report.CrashNullWrite, report.CrashNullAccess,
		report.CrashWildRead, report.CrashWildWrite, report.CrashWildAccess,
		report.CrashNonCanonicalRead, report.CrashNonCanonicalWrite, report.CrashNonCanonicalAccess,
		report.CrashNoAccessRead, report.CrashNoAccessWrite, report.CrashNoAccess, report.CrashWriteReadOnly,
		report.CrashBadRead, report.CrashBadWrite, report.CrashBadAccess:
		return true
	}
	return false
}

// allocating returns the function of glibc's allocator that was called when the fault happened inside the
// allocator; false if it happened elsewhere. Functions without names count if they are in the C library, as in the
// stripped one. free and realloc themselves read the header of the block that they were given: a fault there says
// nothing about the heap.
func allocating(frames []report.Frame) (string, bool) {
	for _, is := range [...]func(f *report.Frame) bool{func(f *report.Frame) bool { return allocatorModule(f.Module) }, googles} {
		if len(frames) > 0 && is(&frames[0]) {
			return allocatingIn(frames, is)
		}
	}
	for i := range frames {
		f := &frames[i]
		name := libcName(f.Function)
		switch {
		case f.Signal != "":
			return "", false
		case allocatorPart(name):
		case allocators.Get()[name] && (i > 0 || glibc(f.Module) && name != "free" && name != "realloc"):
			return name, i > 0 || glibc(f.Module)
		case f.Function != "" || !glibc(f.Module):
			return "", false
		}
	}
	return "", false
}

// allocatingIn is allocating for functions of an allocator and nothing else: the one of it that the program called.
func allocatingIn(frames []report.Frame, is func(f *report.Frame) bool) (string, bool) {
	last := 0
	for last+1 < len(frames) && frames[last+1].Signal == "" && is(&frames[last+1]) {
		last++
	}
	name := frames[last].Function
	if own, ok := strings.CutPrefix(name, googlePublic); ok {
		name = publicName(own)
	}
	if freeing(strings.TrimPrefix(name, "mi_")) != "" {
		return name, last > 0
	}
	return name, name != ""
}

const (
	googleInside = "tcmalloc::tcmalloc_internal::"
	googlePublic = "TCMallocInternal" // of the functions that the C library has, too
)

// googles reports whether a frame is of Google's tcmalloc, which is linked into the program.
func googles(f *report.Frame) bool {
	return strings.Contains(f.Function, googleInside) || strings.HasPrefix(f.Function, googlePublic)
}

// publicName is what the program calls a function of which Google's tcmalloc has the implementation: Malloc, DeleteArraySized.
func publicName(own string) string {
	for _, operator := range [...]string{"New", "Delete"} {
		if rest, ok := strings.CutPrefix(own, operator); ok {
			name := "operator " + strings.ToLower(operator)
			if strings.HasPrefix(rest, "Array") {
				name += "[]"
			}
			return name
		}
	}
	return strings.ToLower(own)
}

// allocatorModule reports whether a module is an allocator, as it is preloaded.
func allocatorModule(module string) bool {
	name := module[strings.LastIndexByte(module, '/')+1:]
	return strings.HasPrefix(name, "libtcmalloc") || strings.HasPrefix(name, "libjemalloc") || strings.HasPrefix(name, "libmimalloc")
}

// allocators are the public functions of the allocator.
var allocators = lazy.Value[map[string]bool]{Make: func() map[string]bool {
	return map[string]bool{
		"malloc": true, "calloc": true, "realloc": true, "free": true, "memalign": true, "posix_memalign": true,
		"aligned_alloc": true, "valloc": true, "pvalloc": true, "malloc_trim": true,
		// and musl's own
		"__bin_chunk": true, "bin_chunk": true, "unmap_chunk": true, "unbin": true, "alloc_fwd": true, "alloc_rev": true,
	}
}}

// allocatorPart reports whether a name is that of a function inside of glibc's allocator.
func allocatorPart(name string) bool {
	for _, part := range []string{"_int_malloc", "_int_free", "_int_realloc", "_int_memalign", "_mid_memalign", "sysmalloc", "systrim",
		"unlink_chunk", "malloc_consolidate", "arena_for_chunk", "tcache_", "heap_trim"} {
		if strings.HasPrefix(name, part) {
			return true
		}
	}
	return false
}

// glibc reports whether a module is glibc.
func glibc(module string) bool {
	name := module[strings.LastIndexByte(module, '/')+1:]
	return strings.HasPrefix(name, "libc.so") || strings.HasPrefix(name, "libc-2.")
}

// libcName removes what glibc adds to the names of its functions: "__libc_free" and "__GI___libc_free" are free.
func libcName(name string) string {
	name = strings.TrimPrefix(name, "__GI_")
	return strings.TrimPrefix(name, "__libc_")
}

// stringFunctions are the C library's functions on memory and strings, with a letter for each parameter: r for a
// pointer that is read through, w for one that is written through, b for both, n for a number.
var stringFunctions = lazy.Value[map[string]string]{Make: func() map[string]string {
	return map[string]string{
		"strlen": "r", "strnlen": "rn", "wcslen": "r", "strcmp": "rr", "strncmp": "rrn", "strcasecmp": "rr", "strncasecmp": "rrn",
		"strcpy": "wr", "strncpy": "wrn", "stpcpy": "wr", "strcat": "br", "strncat": "brn",
		"strchr": "rn", "strrchr": "rn", "strchrnul": "rn", "strstr": "rr", "strspn": "rr", "strcspn": "rr", "strpbrk": "rr",
		"memcpy": "wrn", "memmove": "wrn", "mempcpy": "wrn", "memset": "wnn", "memcmp": "rrn", "memchr": "rnn", "memrchr": "rnn",
		"rawmemchr": "rn", "wmemset": "wnn", "free": "b",
	}
}}

// stringFunction returns the C library's function in which the thread stopped, and its parameters; "" for another
// function. A function that the stripped library does not name is named by the call, which the trace followed.
func stringFunction(frames []report.Frame, blame *report.Blame) (name, args string) {
	for i := range frames {
		f := &frames[i]
		if f.Physical != 0 {
			break
		}
		if f.Inlined || f.Tail {
			continue
		}
		name = f.Function
		if name == "" && glibc(f.Module) && blame != nil && blame.Steps[0].Kind == report.BlameArgument {
			name = blame.Steps[0].Function
		}
	}
	if blame != nil && blame.Steps[0].Kind == report.BlameArgument && sameName(blame.Steps[0].Function, name, name) {
		name = blame.Steps[0].Function // memcpy, whose code is memmove's
	}
	return stringName(name)
}

// stringName returns the name by which programs call a function of the C library, and its parameters; "" if it is
// none of stringFunctions.
func stringName(name string) (called, args string) {
	if args = stringFunctions.Get()[libcName(name)]; args != "" {
		return libcName(name), args
	}
	// Versions for a kind of processor: __strlen_avx2.
	base, rest, ok := strings.Cut(strings.TrimPrefix(name, "__"), "_")
	if args = stringFunctions.Get()[base]; !ok || args == "" || base == "free" || !strings.HasPrefix(name, "__") || strings.Contains(rest, "chk") {
		return "", ""
	}
	if base == "memmove" {
		base = "memcpy or memmove"
	}
	return base, args
}

// callWords writes the call of a string function, with the argument that was bad: "strcmp(c->host = null, ...)". If
// that is not known, the function and the fault.
func callWords(name, args string, v verdict, f *fault) string {
	bad, value, expr := f.argument, uint64(0), ""
	if b := f.blame; bad > 0 && b != nil {
		value, expr = uint64(b.Value), passedAs(b)
	} else if bad = onlyArgument(args, v.kind); f.address == nil || *f.address != 0 {
		bad = 0 // an access at null itself is through a null pointer, one near it perhaps is not
	}
	if bad < 1 || bad > len(args) {
		return name + ": " + v.reason
	}
	list := make([]string, len(args))
	for i := range list {
		list[i] = "..."
	}
	shown := fmt.Sprintf("%#x", value)
	if null := strings.HasPrefix(v.kind, "null-"); null && value == 0 {
		shown = "null"
	} else if null {
		shown = fmt.Sprintf("null+%#x", value)
	}
	if expr != "" {
		shown = expr + " = " + shown
	}
	list[bad-1] = shown
	call := name + "(" + strings.Join(list, ", ") + ")"
	if strings.HasPrefix(v.kind, "null-") {
		return call
	}
	return call + ": " + v.reason
}

// onlyArgument returns the number of the only parameter through which a function makes the access of a kind; 0 if
// there are several or the access is of another kind.
func onlyArgument(args, kind string) int {
	letter := "r"
	switch kind {
	case report.CrashNullRead:
	case report.CrashNullWrite:
		letter = "w"
	default:
		return 0
	}
	at := strings.Index(args, letter)
	if at < 0 || strings.Count(args, letter) > 1 || strings.Contains(args, "b") {
		return 0
	}
	return at + 1
}

// passedAs returns the expression that the caller passed, by the trace; "" if it has no name.
func passedAs(b *report.Blame) string {
	for i := range b.Steps {
		s := &b.Steps[i]
		switch {
		case s.Physical == 0:
			continue
		case s.Physical > 1 || strings.HasPrefix(s.Name, "["):
			return ""
		case s.Kind == report.BlameOffset && s.Expression != "":
			return sourceWords(s.Expression)
		case (s.Kind == report.BlameRead || s.Kind == report.BlamePassed) && s.Name != "":
			return sourceWords(s.Name)
		case s.Kind != report.BlamePassed:
			return ""
		}
	}
	return ""
}
