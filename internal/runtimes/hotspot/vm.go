package hotspot

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"sync/atomic"

	"github.com/corewalk/corewalk/internal/procmem"
	"github.com/corewalk/corewalk/internal/runtimes/remote"
	"github.com/corewalk/corewalk/libstate"
	"github.com/corewalk/corewalk/tasks"
	"github.com/corewalk/corewalk/unwind/arch"
)

// The symbol by which a virtual machine is known.
const mark = "gHotSpotVMStructs"

// A VM is the HotSpot virtual machine of a process. It must not be copied. Concurrent use is allowed.
type VM struct {
	memory
	*tables
	lib     *libstate.Library
	spend   func(int) error // of the budget for what a dump decides
	version int             // of Java: 17; 0 if it is not known
	heaps   []codeHeap
	callers uint64 // the return address of Java's frames into the stub that called them
	layout  layout
	objects objects
	// narrowLocation is what debug information says of a reference of 32 bits.
	narrowLocation uint64

	tableBytes atomic.Int64 // of those that are kept, by mayKeep
	blobs      remote.Kept[*blob]
	methods    remote.Kept[*method]
	fieldLists remote.Kept[[]classField] // by class
	fieldMaps  remote.Kept[map[string][]classField]
	classNames remote.Kept[string]
	chunks     chunks
	enters     remote.Kept[*blob] // by which threads begin to run virtual ones, at 0
}

// mayKeep reports whether so many more bytes of tables may be kept. Many methods, or pieces of code, may have one table.
func (vm *VM) mayKeep(n int) bool { return vm.tableBytes.Add(int64(n)) <= maxKept }

// maxKept is the most bytes of tables and their names that are kept of all methods together.
const maxKept = 128 << 20

// layout has the offsets that frames need of most structures.
type layout struct {
	constMethod, methodPool, codeSize, flags, nameIndex, signatureIndex uint64
	constMethodSize, poolSize, holder, klassName                        uint64
	symbolLength, symbolBody                                            uint64
	sourceName                                                          uint64 // in the pool, or in the class
	sourceInPool, hasSource                                             bool
}

// ErrNoTables means that the virtual machine does not describe itself.
var ErrNoTables = errors.New("the virtual machine's description of itself cannot be read")

// Open reads the description of the virtual machine in a library; nil if the library has none.
func Open(p *tasks.Process, lib *libstate.Library) (*VM, error) {
	if _, ok := p.Symbols.SymbolByName(lib, mark); !ok {
		return nil, nil
	}
	if p.State.Arch() != arch.AMD64 {
		return nil, fmt.Errorf("java frames of %s: known for x86-64 only, not for %s", lib.Path, p.State.Arch().Name)
	}
	vm := &VM{memory: memory{procmem.Of(p.State).Charged(p.Spend)}, lib: lib, spend: p.Spend}
	if err := vm.open(p); err != nil {
		return nil, fmt.Errorf("java frames of %s: %w", lib.Path, err)
	}
	return vm, nil
}

func (vm *VM) open(p *tasks.Process) error {
	t, err := vm.readTables(func(name string) (uint64, bool) {
		s, ok := p.Symbols.SymbolByName(vm.lib, name)
		return s.Addr, ok
	}, p.Spend)
	if err != nil {
		return err
	}
	vm.tables = t
	if v, ok := vm.U32(vm.static("Abstract_VM_Version._vm_major_version")); ok && v < 1000 {
		vm.version = int(v)
	}
	vm.callers = vm.Word(vm.static("StubRoutines._call_stub_return_address"))
	if err := vm.findLayout(); err != nil {
		return err
	}
	vm.findObjects()
	vm.narrowLocation = defaultNarrowLocation
	if v, ok := t.constants["Location::narrowoop"]; ok {
		vm.narrowLocation = uint64(v)
	}
	return vm.findHeaps()
}

// isOld is true before JDK 9.
func (vm *VM) isOld() bool { return vm.static("CodeCache._heap") != 0 }

// defaultNarrowLocation is that of JDK 8 to 21.
const defaultNarrowLocation = 8

func (vm *VM) findLayout() error {
	l, missing := &vm.layout, ""
	need := func(to *uint64, names ...string) {
		v, ok := vm.off(names...)
		if !ok {
			missing = names[0]
		}
		*to = v
	}
	size := func(to *uint64, typ string) {
		if *to = vm.sizes[typ]; *to == 0 || *to > 4096 {
			missing = "size of " + typ
		}
	}
	need(&l.constMethod, "Method._constMethod")
	need(&l.methodPool, "ConstMethod._constants")
	need(&l.codeSize, "ConstMethod._code_size")
	need(&l.flags, "ConstMethod._flags", "ConstMethod._flags._flags")
	need(&l.nameIndex, "ConstMethod._name_index")
	need(&l.signatureIndex, "ConstMethod._signature_index")
	size(&l.constMethodSize, "ConstMethod")
	size(&l.poolSize, "ConstantPool")
	need(&l.holder, "ConstantPool._pool_holder")
	need(&l.klassName, "Klass._name")
	need(&l.symbolLength, "Symbol._length", "Symbol._length_and_refcount")
	need(&l.symbolBody, "Symbol._body", "Symbol._body[0]")
	if missing != "" {
		return fmt.Errorf("%w: no %s", ErrNoTables, missing)
	}
	if l.sourceName, l.sourceInPool = vm.off("ConstantPool._source_file_name_index"); l.sourceInPool {
		l.hasSource = true
	} else {
		l.sourceName, l.hasSource = vm.off("InstanceKlass._source_file_name_index")
	}
	return nil
}

// A codeHeap is a part of the code cache.
type codeHeap struct {
	low, high uint64 // of the code that is committed
	segments  uint64 // the map that leads from an address to the beginning of its block
	shift     uint32 // log2 of the bytes of a segment
}

// The most heaps that a code cache may have: HotSpot makes three.
const maxHeaps = 16

func (vm *VM) findHeaps() error {
	low, ok := vm.off("VirtualSpace._low")
	high, ok2 := vm.off("VirtualSpace._high")
	mem, ok3 := vm.off("CodeHeap._memory")
	segs, ok4 := vm.off("CodeHeap._segmap")
	shift, ok5 := vm.off("CodeHeap._log2_segment_size")
	if !ok || !ok2 || !ok3 || !ok4 || !ok5 {
		return fmt.Errorf("%w: no CodeHeap", ErrNoTables)
	}
	var all []uint64
	if at := vm.static("CodeCache._heaps"); at != 0 {
		list := vm.Word(at)
		n, ok := vm.off("GrowableArrayBase._len", "GenericGrowableArray._len")
		data, ok2 := vm.off("GrowableArray<int>._data", "GrowableArrayBase._data", "GenericGrowableArray._data")
		count, ok3 := vm.U32(list + n)
		if !ok || !ok2 || !ok3 || count > maxHeaps {
			return fmt.Errorf("the list of code heaps at %#x is damaged", list)
		}
		first := vm.Word(list + data)
		for i := range uint64(count) {
			all = append(all, vm.Word(first+8*i))
		}
	} else if at := vm.static("CodeCache._heap"); at != 0 { // before JDK 9
		all = append(all, vm.Word(at))
	}
	for _, at := range all {
		s, ok := vm.U32(at + shift)
		h := codeHeap{vm.Word(at + mem + low), vm.Word(at + mem + high), vm.Word(at + segs + low), s}
		if ok && h.low != 0 && h.low < h.high && h.high-h.low <= 1<<32 && s >= 4 && s <= 16 {
			vm.heaps = append(vm.heaps, h)
		}
	}
	if len(vm.heaps) == 0 {
		return errors.New("the code cache is not in the dump, or is damaged")
	}
	sort.Slice(vm.heaps, func(i, j int) bool { return vm.heaps[i].low < vm.heaps[j].low })
	return nil
}

// Contains reports whether code at an address is in the code cache.
func (vm *VM) Contains(pc uint64) bool { return vm.heapOf(pc) != nil }

func (vm *VM) heapOf(pc uint64) *codeHeap {
	for i := range vm.heaps {
		if h := &vm.heaps[i]; h.low <= pc && pc < h.high {
			return h
		}
	}
	return nil
}

// maxRelease is the most bytes of the name of a release.
const maxRelease = 64

// describe says which version it is, and how its layout is known.
func (vm *VM) describe() string {
	v := "HotSpot"
	old := vm.isOld() // the machine of JDK 8 calls itself 25
	if s := vm.release(); s != "" {
		v += " " + s
	} else if vm.version != 0 && !old {
		v += " " + strconv.Itoa(vm.version)
	}
	if old {
		v += " of JDK 8"
	}
	return v + ", layout from its own tables"
}

// release is what the virtual machine calls its release: "17.0.15+6-Debian-1"; "" if it does not say, or if that is
// not the name of one.
func (vm *VM) release() string {
	s, ok := vm.Text(vm.Word(vm.static("Abstract_VM_Version._s_vm_release")))
	if !ok || s == "" || len(s) > maxRelease || s[0] < '0' || s[0] > '9' {
		return ""
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return ""
		}
	}
	return s
}
