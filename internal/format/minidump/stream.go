package minidump

import "github.com/corewalk/corewalk/internal/lazy"

import "fmt"

// A StreamType is the kind of a stream.
type StreamType uint32

// Types of streams: MINIDUMP_STREAM_TYPE, then those of Breakpad, Crashpad,
// Chromium and Mozilla.
const (
	Unused                    StreamType = 0
	ThreadListStream          StreamType = 3
	ModuleListStream          StreamType = 4
	MemoryListStream          StreamType = 5
	ExceptionStream           StreamType = 6
	SystemInfoStream          StreamType = 7
	ThreadExListStream        StreamType = 8
	Memory64ListStream        StreamType = 9
	CommentStreamA            StreamType = 10
	CommentStreamW            StreamType = 11
	HandleDataStream          StreamType = 12
	FunctionTableStream       StreamType = 13
	UnloadedModuleListStream  StreamType = 14
	MiscInfoStream            StreamType = 15
	MemoryInfoListStream      StreamType = 16
	ThreadInfoListStream      StreamType = 17
	HandleOperationListStream StreamType = 18
	TokenStream               StreamType = 19
	JavaScriptDataStream      StreamType = 20
	SystemMemoryInfoStream    StreamType = 21
	ProcessVMCountersStream   StreamType = 22
	IptTraceStream            StreamType = 23
	ThreadNamesStream         StreamType = 24
	WineUnixModulesStream     StreamType = 0xfff0

	BreakpadInfoStream    StreamType = 0x47670001
	AssertionInfoStream   StreamType = 0x47670002
	LinuxCPUInfoStream    StreamType = 0x47670003
	LinuxProcStatusStream StreamType = 0x47670004
	LinuxLSBReleaseStream StreamType = 0x47670005
	LinuxCmdLineStream    StreamType = 0x47670006
	LinuxEnvironStream    StreamType = 0x47670007
	LinuxAuxvStream       StreamType = 0x47670008
	LinuxMapsStream       StreamType = 0x47670009
	LinuxDSODebugStream   StreamType = 0x4767000a

	CrashpadInfoStream    StreamType = 0x43500001
	StabilityReportStream StreamType = 0x4b6b0002

	MozillaMacCrashStream    StreamType = 0x4d7a0001
	MozillaMacBootStream     StreamType = 0x4d7a0002
	MozillaLinuxLimitsStream StreamType = 0x4d7a0003
	MozillaSoftErrorsStream  StreamType = 0x4d7a0004
)

var streamNames = lazy.Value[map[StreamType]string]{Make: func() map[StreamType]string {
	return map[StreamType]string{
		Unused: "Unused", ThreadListStream: "ThreadList", ModuleListStream: "ModuleList", MemoryListStream: "MemoryList",
		ExceptionStream: "Exception", SystemInfoStream: "SystemInfo", ThreadExListStream: "ThreadExList", Memory64ListStream: "Memory64List",
		CommentStreamA: "CommentA", CommentStreamW: "CommentW", HandleDataStream: "HandleData", FunctionTableStream: "FunctionTable",
		UnloadedModuleListStream: "UnloadedModuleList", MiscInfoStream: "MiscInfo", MemoryInfoListStream: "MemoryInfoList",
		ThreadInfoListStream: "ThreadInfoList", HandleOperationListStream: "HandleOperationList", TokenStream: "Token",
		JavaScriptDataStream: "JavaScriptData", SystemMemoryInfoStream: "SystemMemoryInfo", ProcessVMCountersStream: "ProcessVmCounters",
		IptTraceStream: "IptTrace", ThreadNamesStream: "ThreadNames", WineUnixModulesStream: "WineUnixModules",
		BreakpadInfoStream: "BreakpadInfo", AssertionInfoStream: "AssertionInfo", LinuxCPUInfoStream: "LinuxCpuInfo",
		LinuxProcStatusStream: "LinuxProcStatus", LinuxLSBReleaseStream: "LinuxLsbRelease", LinuxCmdLineStream: "LinuxCmdLine",
		LinuxEnvironStream: "LinuxEnviron", LinuxAuxvStream: "LinuxAuxv", LinuxMapsStream: "LinuxMaps", LinuxDSODebugStream: "LinuxDsoDebug",
		CrashpadInfoStream: "CrashpadInfo", StabilityReportStream: "StabilityReport", MozillaMacCrashStream: "MacosCrashInfo",
		MozillaMacBootStream: "MacosBootargs", MozillaLinuxLimitsStream: "LinuxLimits", MozillaSoftErrorsStream: "SoftErrors",
	}
}}

func (t StreamType) String() string {
	if n, ok := streamNames.Get()[t]; ok {
		return n
	}
	return fmt.Sprintf("%#x", uint32(t))
}

// plainList finds the entries of a list that begins with a count. Some writers align the
// entries by 4 bytes of padding after the count, which the stream's size reveals. n is the
// number of entries that fit in the stream.
func (f *File) plainList(t StreamType, s []byte, size int) (body []byte, n int) {
	if len(s) < 4 {
		f.warnf("stream %v: %d bytes are too short for a list", t, len(s))
		return nil, 0
	}
	c := f.cursor(s)
	count := uint64(c.U32())
	body = s[4:]
	if uint64(len(s)) == 8+count*uint64(size) {
		body = s[8:]
	}
	return body, f.entries(t, count, len(body), size)
}

// sizedList finds the entries of a list that begins with the sizes of its header and of an
// entry. An entry must have at least size bytes; extra bytes are ignored. The count has
// countSize bytes.
func (f *File) sizedList(t StreamType, s []byte, countSize, size int) (body []byte, n, stride int) {
	c := f.cursor(s)
	head, entry, count := c.U32(), c.U32(), c.Uint(countSize)
	if c.Error != nil || uint64(head) > uint64(len(s)) || head < 8 {
		f.warnf("stream %v: damaged header", t)
		return nil, 0, 0
	}
	if uint64(entry) < uint64(size) || uint64(entry) > 1<<20 {
		f.warnf("stream %v: entries have %d bytes, need %d", t, entry, size)
		return nil, 0, 0
	}
	body = s[head:]
	return body, f.entries(t, count, len(body), int(entry)), int(entry)
}

// read takes n bytes from what may be decoded of streams: those of an honest dump do not overlap, so that it has no more than the
// file. It returns false if the dump's streams have had them.
func (f *File) read(t StreamType, n int) bool {
	if n > f.readMax {
		f.warnf("stream %v: %d bytes omitted: streams overlap, and those before it have %d of the file's %d", t, n, len(f.Data)-f.readMax, len(f.Data))
		return false
	}
	f.readMax -= n
	return true
}

// entries is clamp for entries that are all decoded.
func (f *File) entries(t StreamType, count uint64, have, size int) int {
	n := f.clamp(t, count, have, size)
	if !f.read(t, n*size) {
		return 0
	}
	return n
}

// clamp limits a count to the entries for which there are bytes.
func (f *File) clamp(t StreamType, count uint64, have, size int) int {
	if room := uint64(have / size); count > room {
		f.warnf("stream %v: has %d entries, but room for only %d", t, count, room)
		count = room
	}
	return int(count)
}
