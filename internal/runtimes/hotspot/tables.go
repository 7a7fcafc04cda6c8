package hotspot

import (
	"fmt"
	"strings"
)

// The most entries that a table may have: JDK 25 has some 3,000.
const maxEntries = 1 << 15

// A field of a structure of the virtual machine: an offset in it, or the address of a static one.
type field struct {
	offset  uint64
	address uint64 // of a static field
	typ     uint64 // where its type is written
	static  bool
}

// tables are what the virtual machine says of itself, as far as it is used here.
type tables struct {
	fields map[string]field  // by "Type.field"
	sizes  map[string]uint64 // of types, in bytes

	constants map[string]uint32 // those of locations, and of what a region of G1's heap is for
}

// wanted are the types whose fields are read.
const wanted = " AbstractMethod Abstract_VM_Version ThreadsSMRSupport ThreadsList JavaThread Thread OSThread JavaFrameAnchor ThreadShadow" +
	" CodeCache GrowableArrayBase GenericGrowableArray GrowableArray<int> CodeHeap VirtualSpace HeapBlock CodeBlob nmethod CompiledMethod" +
	" Method ConstMethod ConstantPool InstanceKlass Klass Symbol StubRoutines PcDesc" +
	" Array<Method*> Array<int> Array<Metadata*> CompressedOops CompressedKlassPointers Universe JVMFlag Flag Threads" +
	" ObjectMonitor BasicObjectLock LockStack java_lang_Class ClassLoaderDataGraph ClassLoaderData" +
	" CollectedHeap MemRegion GenCollectedHeap SerialHeap DefNewGeneration TenuredGeneration Space ContiguousSpace ParallelScavengeHeap PSYoungGen" +
	" PSOldGen MutableSpace ImmutableSpace G1CollectedHeap HeapRegionManager G1HeapRegionManager G1HeapRegionTable HeapRegion G1HeapRegion" +
	" HeapRegionType G1HeapRegionType ThreadLocalAllocBuffer ObjArrayKlass "

func isWanted(typ string) bool { return strings.Contains(wanted, " "+typ+" ") }

// readTables reads the tables; symbol answers where a variable of the virtual machine is.
func (m memory) readTables(symbol func(name string) (uint64, bool), spend func(int) error) (*tables, error) {
	t := &tables{map[string]field{}, map[string]uint64{}, map[string]uint32{}}
	texts := map[uint64]string{} // of the names of types, which many entries share
	typ := func(at uint64) string {
		s, ok := texts[at]
		if !ok {
			s, _ = m.Text(at)
			texts[at] = s
		}
		return s
	}
	err := m.eachEntry("gHotSpotVMStruct", symbol, spend, []string{"TypeName", "FieldName", "IsStatic", "Offset", "Address", "TypeString"}, func(e []uint64) bool {
		name := m.Word(e[0])
		if name == 0 {
			return false
		}
		if s := typ(name); isWanted(s) {
			f, ok := m.Text(m.Word(e[1]))
			static, ok2 := m.U32(e[2])
			if ok && ok2 {
				t.fields[s+"."+f] = field{m.Word(e[3]), m.Word(e[4]), m.Word(e[5]), static != 0}
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	err = m.eachEntry("gHotSpotVMType", symbol, spend, []string{"TypeName", "Size"}, func(e []uint64) bool {
		name := m.Word(e[0])
		if name == 0 {
			return false
		}
		if s := typ(name); isWanted(s) {
			t.sizes[s] = m.Word(e[1])
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	err = m.eachEntry("gHotSpotVMIntConstant", symbol, spend, []string{"Name", "Value"}, func(e []uint64) bool {
		name := m.Word(e[0])
		if name == 0 {
			return false
		}
		if s, _ := m.Text(name); strings.HasPrefix(s, "Location::") || strings.Contains(s, "HeapRegionType::") {
			t.constants[s], _ = m.U32(e[1])
		}
		return true
	})
	if err != nil { // they are not needed
		t.constants = nil
	}
	return t, nil
}

// eachEntry calls do with the addresses of the columns of each entry of a table, until it returns false.
func (m memory) eachEntry(prefix string, symbol func(string) (uint64, bool), spend func(int) error, columns []string, do func([]uint64) bool) error {
	read := func(name string) (uint64, error) {
		at, ok := symbol(name)
		if !ok {
			return 0, fmt.Errorf("the virtual machine does not export %s", name)
		}
		return m.Word(at), nil
	}
	table, err := read(prefix + "s")
	if err != nil {
		return err
	}
	stride, err := read(prefix + "EntryArrayStride")
	if err != nil {
		return err
	}
	offsets, at := make([]uint64, len(columns)), make([]uint64, len(columns))
	for i, c := range columns {
		if offsets[i], err = read(prefix + "Entry" + c + "Offset"); err != nil {
			return err
		}
		if offsets[i]+4 > stride {
			return fmt.Errorf("%sEntry%sOffset is %d, in entries of %d bytes", prefix, c, offsets[i], stride)
		}
	}
	if table == 0 || stride < 16 || stride > 256 {
		return fmt.Errorf("%ss is at %#x, with entries of %d bytes: not in the dump?", prefix, table, stride)
	}
	for range maxEntries {
		if err := spend(1); err != nil {
			return err
		}
		for i, o := range offsets {
			at[i] = table + o
		}
		if !do(at) {
			return nil
		}
		table += stride
	}
	return fmt.Errorf("%ss has no end", prefix)
}

// off is the offset of a field, by the first of its names that this version has; none marks that it has none.
func (t *tables) off(names ...string) (uint64, bool) {
	for _, n := range names {
		if f, ok := t.fields[n]; ok && !f.static && f.offset < 1<<16 {
			return f.offset, true
		}
	}
	return 0, false
}

// static is the address of a static field; 0 if this version has none.
func (t *tables) static(names ...string) uint64 {
	for _, n := range names {
		if f, ok := t.fields[n]; ok && f.static {
			return f.address
		}
	}
	return 0
}
