package minidump

import "fmt"

// Misc is the content of MiscInfo. A field is known if its flag is set in Flags.
type Misc struct {
	Flags                  uint32 // MINIDUMP_MISC1_... to MISC5_...
	PID                    uint32
	CreateTime             uint32 // seconds since 1970
	UserTime, KernelTime   uint32 // seconds
	MaxMHz, CurrentMHz     uint32
	Integrity              uint32
	ExecuteFlags           uint32
	Protected              uint32
	TimeZone               uint32
	Bias                   int32 // minutes to add to local time to get UTC
	StandardName, Daylight string
	BuildString, DbgString string
	Cookie                 uint32
	XState                 XStateConfig
}

// Flags of Misc.
const (
	MiscPID       = 1
	MiscTimes     = 2
	MiscPower     = 4
	MiscIntegrity = 0x10
	MiscExecute   = 0x20
	MiscTimeZone  = 0x40
	MiscProtected = 0x80
	MiscBuild     = 0x100
	MiscCookie    = 0x200
)

// readMisc decodes MINIDUMP_MISC_INFO and the fields appended by later versions. Fields
// past the end of the record stay unknown.
func (f *File) readMisc(s []byte) {
	c := f.cursor(s)
	size := uint64(c.U32())
	if size >= 24 && size < uint64(len(s)) {
		c.Data = s[:size]
	}
	m := &f.Misc
	flags := c.U32()
	v1 := [4]uint32{c.U32(), c.U32(), c.U32(), c.U32()}
	if c.Error != nil {
		f.warnf("stream MiscInfo: truncated after %d bytes", len(s))
		return
	}
	m.Flags = flags
	m.PID, m.CreateTime, m.UserTime, m.KernelTime = v1[0], v1[1], v1[2], v1[3]
	m.MaxMHz, m.CurrentMHz = c.U32(), c.U32()
	c.Skip(12)
	m.Integrity, m.ExecuteFlags, m.Protected, m.TimeZone = c.U32(), c.U32(), c.U32(), c.U32()
	m.Bias = int32(c.U32())
	m.StandardName = f.utf16(c.Bytes(64))
	c.Skip(16 + 4)
	m.Daylight = f.utf16(c.Bytes(64))
	c.Skip(16 + 4)
	m.BuildString, m.DbgString = f.utf16(c.Bytes(520)), f.utf16(c.Bytes(80))
	m.XState = readXStateConfig(&c)
	m.Cookie = c.U32()
	m.forget()
}

// forget clears the fields whose flags are not set.
func (m *Misc) forget() {
	if m.Flags&MiscPID == 0 {
		m.PID = 0
	}
	if m.Flags&MiscTimes == 0 {
		m.CreateTime, m.UserTime, m.KernelTime = 0, 0, 0
	}
	if m.Flags&MiscPower == 0 {
		m.MaxMHz, m.CurrentMHz = 0, 0
	}
	if m.Flags&MiscTimeZone == 0 {
		m.TimeZone, m.Bias, m.StandardName, m.Daylight = 0, 0, "", ""
	}
	if m.Flags&MiscBuild == 0 {
		m.BuildString, m.DbgString = "", ""
	}
	if m.Flags&MiscCookie == 0 {
		m.Cookie = 0
	}
}

// ProcessID returns the process's id, or 0 if the dump does not have it.
func (f *File) ProcessID() int {
	if f.Misc.PID != 0 {
		return int(f.Misc.PID)
	}
	return f.Linux.pid()
}

// Uptime returns how long the process had run, in seconds, or false if unknown.
func (f *File) Uptime() (uint32, bool) {
	if f.Misc.CreateTime == 0 || f.Time < f.Misc.CreateTime {
		return 0, false
	}
	return f.Time - f.Misc.CreateTime, true
}

// A SystemMemory has some fields of SystemMemoryInfo, about the memory of the whole
// machine.
type SystemMemory struct {
	PageSize                     uint32
	PhysicalPages, Available     uint64 // pages
	Committed, CommitLimit, Peak uint64 // pages
	DumpSize                     int    // size of the stream in bytes
}

// readSystemMemory decodes MINIDUMP_SYSTEM_MEMORY_INFO_1: basic information (52
// bytes), the file cache's (60 bytes), then numbers of pages.
func (f *File) readSystemMemory(s []byte) {
	c := f.cursor(s)
	c.Skip(4 + 4)
	m := &SystemMemory{DumpSize: len(s), PageSize: c.U32(), PhysicalPages: uint64(c.U32())}
	c.Seek(4 + 52 + 60)
	m.Available, m.Committed, m.CommitLimit, m.Peak = c.U64(), c.U64(), c.U64(), c.U64()
	if c.Error != nil {
		f.warnf("stream SystemMemoryInfo: truncated after %d bytes", len(s))
		return
	}
	f.SystemMem = m
}

// VMCounters has some fields of ProcessVmCounters, about the process's memory in bytes.
type VMCounters struct {
	PageFaults                      uint32
	PeakWorkingSet, WorkingSet      uint64
	PagefileUsage, PeakPagefile     uint64
	PeakVirtual, Virtual            uint64 // valid if HasVirtual
	Private                         uint64
	HasVirtual                      bool
	PeakPaged, Paged, PeakNP, NPool uint64 // pool quotas
}

// readVMCounters decodes MINIDUMP_PROCESS_VM_COUNTERS_1 and _2.
func (f *File) readVMCounters(s []byte) {
	c := f.cursor(s)
	revision := c.U16()
	v := &VMCounters{}
	if revision >= 2 {
		v.HasVirtual = c.U16()&1 != 0
	} else {
		c.Skip(2)
	}
	v.PageFaults = c.U32()
	v.PeakWorkingSet, v.WorkingSet = c.U64(), c.U64()
	v.PeakPaged, v.Paged, v.PeakNP, v.NPool = c.U64(), c.U64(), c.U64(), c.U64()
	v.PagefileUsage, v.PeakPagefile = c.U64(), c.U64()
	if revision >= 2 {
		v.PeakVirtual, v.Virtual = c.U64(), c.U64()
	}
	v.Private = c.U64()
	if c.Error != nil {
		f.warnf("stream ProcessVmCounters: truncated after %d bytes", len(s))
		return
	}
	f.VMCounters = v
}

func (f *File) readCommentA(s []byte) { f.Comments = append(f.Comments, cstring(s)) }
func (f *File) readCommentW(s []byte) { f.Comments = append(f.Comments, f.utf16(s)) }

// A Handle is an open Windows handle, or a file descriptor that some writers store instead.
type Handle struct {
	Value           uint64
	Type, Object    string // names
	Attributes      uint32
	GrantedAccess   uint32
	Handles, Points uint32 // handle count and pointer count of the object
	Info            []HandleInfo
}

// A HandleInfo has more information about the object.
type HandleInfo struct {
	Type uint32 // MINIDUMP_HANDLE_OBJECT_INFORMATION_TYPE
	Data []byte
}

// maxHandleInfo limits the list of one handle, which might loop.
const maxHandleInfo = 64

// readHandles decodes MINIDUMP_HANDLE_DATA_STREAM with entries of either version.
func (f *File) readHandles(s []byte) {
	body, n, stride := f.sizedList(HandleDataStream, s, 4, 32)
	f.Handles = make([]Handle, 0, n)
	for i := range n {
		c := f.cursor(body[i*stride : (i+1)*stride])
		h := Handle{Value: c.U64()}
		kind, object := uint64(c.U32()), uint64(c.U32())
		h.Attributes, h.GrantedAccess, h.Handles, h.Points = c.U32(), c.U32(), c.U32(), c.U32()
		h.Type, _ = f.stringAt(kind)
		h.Object, _ = f.stringAt(object)
		if stride >= 40 {
			h.Info = f.handleInfo(uint64(c.U32()))
		}
		f.Handles = append(f.Handles, h)
	}
}

func (f *File) handleInfo(off uint64) []HandleInfo {
	var list []HandleInfo
	for off != 0 && len(list) < maxHandleInfo && f.spend(12) {
		c := f.cursor(f.clip(off, 12))
		next, kind, size := uint64(c.U32()), c.U32(), uint64(c.U32())
		if c.Error != nil {
			f.warnf("handle: information at offset %#x is not in the file", off)
			break
		}
		list = append(list, HandleInfo{Type: kind, Data: f.clip(off+12, size)})
		off = next
	}
	return list
}

func (h Handle) String() string { return fmt.Sprintf("%#x %s %s", h.Value, h.Type, h.Object) }
