package analysis

import (
	"fmt"
	"strings"

	"github.com/corewalk/corewalk/internal/files/find"
	"github.com/corewalk/corewalk/internal/format/dwarf"
	"github.com/corewalk/corewalk/internal/vars/types"
	"github.com/corewalk/corewalk/internal/vars/where"
	"github.com/corewalk/corewalk/report"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind"
	"github.com/corewalk/corewalk/unwind/arch"
)

// An objectName is the name that the program has for something in its memory.
type objectName struct {
	name, typ string
	local     bool // by a variable of the frame
}

// Limits on the search for the name of what a task waits for.
const (
	maxNamedObjects = 256 // objects
	maxNameFrames   = 16  // frames above the call that waits
)

// nameObjects names what a task waits for by a variable of its frames, or of the program.
func (in *question) nameObjects(frames []*unwind.Frame, w *tasks.Wait) {
	in.nameObject(frames, &w.Object)
	for i := range w.Cases {
		in.nameObject(frames, &w.Cases[i].Object)
	}
}

func (in *question) nameObject(frames []*unwind.Frame, o *tasks.Object) {
	if o.Address == 0 || o.Name != "" || in.Variables == nil {
		return
	}
	n, ok := in.tasks.names[o.Address]
	if !ok {
		if in.tasks.names == nil {
			in.tasks.names = map[unwind.Address]objectName{}
		}
		if len(in.tasks.names) >= maxNamedObjects {
			return
		}
		n = in.findName(frames, o.Address)
		in.tasks.names[o.Address] = n
	}
	o.Name = ofProgram(n.name)
	if strings.HasPrefix(o.Type, "sync.") {
		o.Name = ofSync(o.Name)
		if o.Type == "sync.RWMutex" && n.typ == "sync.Mutex" { // which lies at its beginning
			o.Name = strings.TrimSuffix(o.Name, ".w")
		}
	}
}

// ofProgram cuts off the parts of a name that are inside an object of a library: those with reserved names.
func ofProgram(name string) string {
	for _, mark := range []string{".__", "._M_", "._x", ".DebugInfo", "->__", "->_M_", "->_vptr.", "._object.l."} {
		if at := strings.Index(name, mark); at > 0 {
			name = name[:at]
		}
	}
	return name
}

// findName looks for a variable that has an address in it, or that points to it or to a
// structure that it is part of. Frames of system libraries come first in the stack, and name it by
// parameters of theirs ("mutex"), which say nothing. The oldest name of a program's own frame says most, so the
// search goes on until a frame is not in a system library, and keeps what variables of the program it found on the way.
func (in *Engine) findName(frames []*unwind.Frame, addr unwind.Address) objectName {
	libs := in.Proc.LibraryTracker()
	var fallback objectName
	for i, f := range frames[:min(len(frames), maxNameFrames)] {
		act, err := in.Variables.At(frames, i)
		if err != nil {
			continue
		}
		n := nameIn(where.FrameOf(act), in.Proc, f, addr)
		act.Close()
		if n.name == "" || n.typ == "" && fallback.typ != "" { // a symbol of the file says less
			continue
		}
		if libs != nil {
			file := ""
			if lib, ok := libs.LibraryAt(f.LookupAddr()); ok {
				file = lib.Path
			}
			if name, _ := f.Name(); waitsForOthers(file, name) {
				if !ofGo(name) && !n.local { // whose own names say nothing: "c.qcount", "mutex"
					fallback = n
				}
				continue
			}
		}
		return n
	}
	return fallback
}

// waitsForOthers reports whether a function is one that waits on behalf of the program: of a system library or of a
// language's own packages.
func waitsForOthers(file, function string) bool {
	base := strings.ToLower(find.BaseName(file))
	for _, name := range []string{"libc.", "libc-", "libpthread", "ld-", "libstdc++.", "libc++.", "libgcc_s.", "libgomp.", "[vdso]", "ntdll.", "kernelbase.", "kernel32."} {
		if strings.HasPrefix(base, name) {
			return true
		}
	}
	if strings.HasPrefix(function, "__") {
		return true // reserved for what the compiler and its libraries have
	}
	inherent := strings.TrimPrefix(function, "<") // Rust's "<std::sync::Mutex<T>>::lock"
	for _, p := range []string{"runtime.", "sync.", "sync/atomic.", "internal/sync.", "internal/poll.", "std::", "core::", "pthread_", "sem_", "parking_lot", "lock_api::",
		"tokio::", "async_std::", "async_lock::", "system__tasking__", "system__task_primitives__"} {
		if strings.HasPrefix(inherent, p) {
			return true
		}
	}
	return strings.HasPrefix(function, "<") && (strings.Contains(function, "as std::") || strings.Contains(function, "as core::"))
}

// ofSync cuts off the parts of a name that are inside an object of Go's package sync.
func ofSync(name string) string {
	for _, inside := range []string{".w.mu.state", ".mu.state", ".w.state", ".state.v", ".state", ".noCopy"} {
		if whole, ok := strings.CutSuffix(name, inside); ok {
			return strings.TrimPrefix(whole, "&")
		}
	}
	return name
}

func ofGo(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "sync.") || strings.HasPrefix(function, "internal/")
}

// ofInlined reports whether a name is one that a class gives to itself, or that a standard library uses: that of
// a function which was inlined into the program's.
func ofInlined(name string) bool {
	return name == "this" || strings.HasPrefix(name, "__")
}

// waitingFrame is the youngest frame that is the program's own, or a call in a language, if that is given; nil if there
// is none. What a signal interrupted waits only if the handler ended the program: one that itself waits may have left by a jump, and has no frame.
func waitingFrame(frames []report.Frame, language string) *report.Frame {
	ending := false
	for i := range frames {
		f := &frames[i]
		if f.Signal != "" {
			if !ending {
				return nil
			}
			ending = false
			continue
		}
		if ending = ending || sends(f.Function); ending {
			continue
		}
		if f.Function != "" && !waitsForOthers(f.Module, f.Function) && !ofJava(f) && !ofRuby(f) && !ofErlang(f) && (language == "" || f.Language == language) {
			return f
		}
	}
	return nil
}

// ofRuby reports whether a frame is a method that Ruby brings with it: such a method has no place.
func ofRuby(f *report.Frame) bool { return f.Language == "ruby" && f.Source.File == "" }

// ofErlang reports whether a frame is of Erlang's own modules through which processes ask one another.
func ofErlang(f *report.Frame) bool {
	module, _, _ := strings.Cut(f.Function, ":")
	switch module {
	case "gen", "gen_server", "gen_statem", "gen_event", "proc_lib", "timer":
		return f.Language == "erlang"
	}
	return false
}

// ofJava reports whether a frame is one of Java's own packages: that of a lock, or of a thread.
func ofJava(f *report.Frame) bool {
	return f.Language == "java" && (strings.HasPrefix(f.Function, "java.") || strings.HasPrefix(f.Function, "jdk.internal.") || strings.HasPrefix(f.Function, "sun."))
}

// maxLockIn is how many structures within each other are looked into for an object.
const maxLockIn = 8

// lockIn returns the object that begins where t does, with its path: of a structure that begins with a lock, the lock.
// What a lock consists of is no object: its members have reserved names, or its type is the C library's.
func lockIn(t *types.Type) (path string, part *types.Type) {
	for range maxLockIn {
		name := t.Name()
		if strings.HasPrefix(name, "pthread_") || strings.HasPrefix(name, "sync.") || strings.HasPrefix(name, "std::") || strings.HasPrefix(name, "sem_t") {
			break
		}
		in, inner, ok := t.Part(0, 0)
		if !ok || in == "" || ofProgram(path+in) != path+in {
			break
		}
		path, t = path+in, inner
	}
	return path, t
}

// nameIn names an address by the variables of one frame.
func nameIn(vars where.Frame, mem arch.Memory, f *unwind.Frame, addr unwind.Address) objectName {
	pc := f.LookupAddr()
	if h, low, _, ok := vars.Object(pc, addr); ok && h.Type != nil && h.Variable != "" {
		if path, part, ok := h.Type.Part(addr-low, 0); ok {
			inner, part := lockIn(part)
			return objectName{h.Variable + path + inner, part.Name(), true}
		}
	}
	if name, t, off := vars.Global(addr); name != "" {
		if t == nil {
			if off == 0 {
				return objectName{name: name}
			}
			return objectName{name: fmt.Sprintf("%s+%#x", name, off)}
		}
		if path, part, ok := t.Part(off, 0); ok {
			inner, part := lockIn(part)
			return objectName{name + path + inner, part.Name(), false}
		}
	}
	for _, h := range vars.Pointers(pc) {
		v, ok := vars.Number(&h)
		if !ok || v == 0 || addr < v || h.Variable == "" || ofInlined(h.Variable) {
			continue
		}
		target := h.Type.Strip().Target()
		if addr == v && strings.HasPrefix(target.Name(), "hchan<") {
			return objectName{h.Name(), "", true} // Go's channels are pointers
		}
		if addr-v >= max(target.Whole(), 1) { // p[1000] may be anything
			continue
		}
		if expr, part, ok := h.Type.Follow(h.Name(), int64(addr-v), 0); ok {
			inner, part := lockIn(part)
			if name := protectedObject(f, &h); name != "" {
				return objectName{name, part.Name(), true}
			}
			if member, ok := strings.CutPrefix(inner, "."); ok && expr == "*"+h.Name() {
				return objectName{h.Name() + "->" + member, part.Name(), true}
			}
			return objectName{expr + inner, part.Name(), true}
		}
	}
	return heldIn(vars, mem, pc, addr)
}

// protectedObject names the protected object, or its type, of Ada whose operation a frame is: "pkg.store" of pkg__store__putP, and of pkg__store__putN, which
// the other calls when it has the lock. All call their object _object. It is "" for other frames and variables.
func protectedObject(f *unwind.Frame, h *where.Held) string {
	if h.Variable != "_object" || !types.Ada(h.Type.Language) {
		return ""
	}
	function := h.Function // which may be inlined
	if function == "" {
		function, _ = f.Name()
	}
	object := strings.LastIndex(function, "__")
	if object < 0 {
		return ""
	}
	return strings.ReplaceAll(function[:object], "__", ".")
}

// maxHeldIn limits the members of a structure in which a pointer is looked for.
const maxHeldIn = 64

// heldIn names an address by the pointer to it in what a variable leads to: "s.out", "q->lock", and "jobs" where a
// closure has the address of jobs.
func heldIn(vars where.Frame, mem arch.Memory, pc, addr unwind.Address) objectName {
	holds := func(at unwind.Address, t *types.Type) bool {
		if !t.Strip().Pointer() {
			return false
		}
		v, err := mem.ReadWord(at)
		return err == nil && v == addr
	}
	for _, h := range vars.Pointers(pc) {
		v, ok := vars.Number(&h)
		if !ok || v == 0 || h.Variable == "" || ofInlined(h.Variable) {
			continue
		}
		target := h.Type.Strip().Target()
		name, of := strings.CutPrefix(h.Name(), "&")
		if of && holds(v, target) {
			return objectName{name, "", true}
		}
		if target = target.Strip(); !target.Aggregate() || target.Declared {
			continue
		}
		fields := target.Members().Fields
		for i := range fields[:min(len(fields), maxHeldIn)] {
			m := &fields[i]
			if m.Static || m.Name == "" || m.Expr.Present() || m.Bits != 0 {
				continue
			}
			if member := target.MemberType(m); holds(v+m.Off, member) {
				if target.Language == dwarf.LangGo {
					return objectName{h.Name() + "." + m.Name, "", true}
				}
				return objectName{"*" + h.Name() + "->" + m.Name, "", true}
			}
		}
	}
	return objectName{}
}
