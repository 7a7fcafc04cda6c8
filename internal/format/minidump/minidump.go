// Package minidump reads minidumps, the process dumps that Windows (MiniDumpWriteDump),
// Breakpad, Crashpad and others write on Windows, Linux, Android and macOS. It also reads
// Breakpad's microdumps, which are text in a log.
//
// A minidump is a directory of typed streams, each found by its offset in the file (called
// "RVA", but unrelated to that of PE). The layouts are in minidumpapiset.h of the Windows
// SDK ("Minidump Files" in its documentation) and, for their extensions, in the headers of
// Breakpad (google_breakpad/common/minidump_format.h) and Crashpad
// (minidump/minidump_extensions.h). All structures are packed to 4 bytes and may be at any
// offset, so everything is read by offset.
//
// Parse is lenient: it clips truncated data, reports inconsistencies in Warnings, and keeps
// all that it can read. It never copies memory.
package minidump

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/corewalk/corewalk/internal/format/binbuf"
)

// Reasons to reject a file.
var (
	// ErrNotMinidump: the file does not begin like a minidump.
	ErrNotMinidump = errors.New("not a minidump")
	// ErrTruncated: the file ends in its header or directory.
	ErrTruncated = errors.New("minidump truncated in its headers")
)

// Signature begins a minidump; it is reversed on a big-endian machine.
const Signature = "MDMP"

const (
	headerSize  = 32
	versionLow  = 0xa793 // the high half is specific to the writer
	dirEntry    = 12
	maxWarnings = 100
)

// A File is a parsed minidump. It is immutable and safe for concurrent use. It refers to
// the bytes from which it was parsed.
type File struct {
	Data []byte // the whole file
	Big  bool   // big-endian
	// Microdump says that the dump is a microdump.
	Microdump bool
	Time      uint32 // when the dump was written, in seconds since 1970; 0 if unknown
	Flags     uint64 // MINIDUMP_TYPE; writers may omit bits
	Streams   []Stream

	System     System
	Misc       Misc
	Threads    []Thread
	Modules    []Module
	Unloaded   []UnloadedModule
	Memory     Memory
	Regions    []Region // from MemoryInfoList, in the dump's order
	Exception  *Exception
	Breakpad   *BreakpadInfo
	Assertion  *Assertion
	Handles    []Handle
	Comments   []string
	Functions  []FunctionTable
	SystemMem  *SystemMemory
	VMCounters *VMCounters
	Linux      Linux
	Crashpad   *Crashpad
	Mac        Mac
	SoftErrors []byte // JSON, from Mozilla's writer; nil if none
	Product    string // of a microdump

	Warnings []string

	ranges  []Range // being collected
	strMax  int     // how many more bytes of strings may be decoded
	readMax int     // how many more bytes of streams may be decoded
}

// A Stream is an entry in the directory.
type Stream struct {
	Type StreamType
	Off  uint64
	Size uint64 // as given in the directory
	Data []byte // the part of it that is in the file
}

// Parse reads a minidump. It fails only if the file has no directory.
func Parse(data []byte) (*File, error) {
	f := &File{Data: data}
	if err := f.header(); err != nil {
		return nil, err
	}
	f.strMax, f.readMax = 1<<20+2*len(data), len(data)
	f.readStreams()
	f.finish()
	return f, nil
}

// Sniff reports whether data begins like a minidump.
func Sniff(data []byte) bool {
	return len(data) >= 4 && (string(data[:4]) == Signature || string(data[:4]) == "PMDM")
}

func (f *File) header() error {
	if !Sniff(f.Data) {
		return fmt.Errorf("begins with % x: %w", f.Data[:min(len(f.Data), 4)], ErrNotMinidump)
	}
	f.Big = f.Data[0] == 'P'
	if len(f.Data) < headerSize {
		return fmt.Errorf("header has %d bytes, need %d: %w", len(f.Data), headerSize, ErrTruncated)
	}
	c := binbuf.New(f.Data, 4, f.Big)
	version, count, dir := c.U32(), c.U32(), uint64(c.U32())
	c.Skip(4) // checksum
	f.Time, f.Flags = c.U32(), c.U64()
	if version&0xffff != versionLow {
		f.warnf("header has version %#x, want %#x in the low half", version, versionLow)
	}
	if dir+dirEntry > uint64(len(f.Data)) {
		return fmt.Errorf("directory of streams at offset %#x of %#x bytes: %w", dir, len(f.Data), ErrTruncated)
	}
	if room := (uint64(len(f.Data)) - dir) / dirEntry; uint64(count) > room {
		f.warnf("directory has %d streams, but the file has room for %d", count, room)
		count = uint32(room)
	}
	f.Streams = make([]Stream, 0, count)
	c.Seek(int(dir))
	for range count {
		s := Stream{Type: StreamType(c.U32()), Size: uint64(c.U32()), Off: uint64(c.U32())}
		s.Data = f.clip(s.Off, s.Size)
		if uint64(len(s.Data)) < s.Size {
			f.warnf("stream %v: has %d bytes at offset %#x, but only %d are in the file", s.Type, s.Size, s.Off, len(s.Data))
		}
		f.Streams = append(f.Streams, s)
	}
	return nil
}

// readStreams decodes the known streams, in the order in which they depend on each other.
func (f *File) readStreams() {
	chosen := make(map[StreamType]Stream)
	var exceptions [][]byte
	for _, s := range f.Streams {
		if s.Type == Unused || len(s.Data) == 0 {
			continue
		}
		if s.Type == ExceptionStream {
			exceptions = append(exceptions, s.Data)
			continue
		}
		if _, twice := chosen[s.Type]; twice {
			f.warnf("stream %v: occurs several times, using the last", s.Type)
		}
		chosen[s.Type] = s
	}
	for _, d := range decoders {
		if s, ok := chosen[d.of]; ok && (!slices.Contains(whole, d.of) || f.read(d.of, len(s.Data))) {
			d.decode(f, s.Data)
		}
		if d.of == MemoryInfoListStream { // what is about the threads
			f.readExceptions(exceptions)
		}
	}
}

// decoders in the order in which the streams are decoded.
var decoders = []struct {
	of     StreamType
	decode func(*File, []byte)
}{
	{SystemInfoStream, (*File).readSystem},
	{MiscInfoStream, (*File).readMisc},
	{ThreadListStream, (*File).readThreads},
	{ThreadExListStream, (*File).readThreadsEx},
	{ThreadInfoListStream, (*File).readThreadInfo},
	{ThreadNamesStream, (*File).readThreadNames},
	{ModuleListStream, (*File).readModules},
	{UnloadedModuleListStream, (*File).readUnloaded},
	{MemoryListStream, (*File).readMemoryList},
	{Memory64ListStream, (*File).readMemory64},
	{MemoryInfoListStream, (*File).readMemoryInfo},
	{BreakpadInfoStream, (*File).readBreakpadInfo},
	{AssertionInfoStream, (*File).readAssertion},
	{HandleDataStream, (*File).readHandles},
	{CommentStreamA, (*File).readCommentA},
	{CommentStreamW, (*File).readCommentW},
	{FunctionTableStream, (*File).readFunctionTable},
	{SystemMemoryInfoStream, (*File).readSystemMemory},
	{ProcessVMCountersStream, (*File).readVMCounters},
	{LinuxCPUInfoStream, func(f *File, b []byte) { f.Linux.CPUInfo = b }},
	{LinuxProcStatusStream, func(f *File, b []byte) { f.Linux.Status = b }},
	{LinuxLSBReleaseStream, func(f *File, b []byte) { f.Linux.LSBRelease = b }},
	{LinuxCmdLineStream, func(f *File, b []byte) { f.Linux.CmdLine = f.vector(LinuxCmdLineStream, b) }},
	{LinuxEnvironStream, func(f *File, b []byte) { f.Linux.Environ = f.vector(LinuxEnvironStream, b) }},
	{LinuxAuxvStream, func(f *File, b []byte) { f.Linux.Auxv = b }},
	{LinuxMapsStream, (*File).readLinuxMaps},
	{LinuxDSODebugStream, (*File).readDSODebug},
	{MozillaLinuxLimitsStream, func(f *File, b []byte) { f.Linux.Limits = b }},
	{CrashpadInfoStream, (*File).readCrashpad},
	{MozillaMacCrashStream, (*File).readMacCrash},
	{MozillaMacBootStream, (*File).readMacBoot},
	{MozillaSoftErrorsStream, (*File).readSoftErrors},
}

// whole are the streams of which all bytes are decoded or kept. The others are records, or lists that say how long they are.
var whole = []StreamType{CommentStreamA, CommentStreamW, LinuxCPUInfoStream, LinuxProcStatusStream, LinuxLSBReleaseStream, LinuxCmdLineStream,
	LinuxEnvironStream, LinuxAuxvStream, LinuxMapsStream, MozillaLinuxLimitsStream, MozillaSoftErrorsStream}

// finish does the work that needs several streams.
func (f *File) finish() {
	f.addStacks()
	f.Memory = f.indexMemory(f.ranges)
	f.ranges = nil
	f.settleSystem()
	f.settleCrash()
}

func (f *File) warnf(format string, args ...any) {
	if len(f.Warnings) < maxWarnings {
		f.Warnings = append(f.Warnings, fmt.Sprintf(format, args...))
	}
}

// Stream returns the stream of a type that File uses, or false if there is none.
func (f *File) Stream(t StreamType) (Stream, bool) {
	for _, s := range slices.Backward(f.Streams) {
		if s.Type == t && len(s.Data) > 0 {
			return s, true
		}
	}
	return Stream{}, false
}

// clip returns the part of size bytes at off that is in the file.
func (f *File) clip(off, size uint64) []byte {
	n := uint64(len(f.Data))
	if off >= n {
		return nil
	}
	end := off + min(size, n-off)
	return f.Data[off:end:end]
}

// A location is a LOCATION_DESCRIPTOR.
type location struct{ size, off uint64 }

func readLocation(c *binbuf.Cursor) location {
	size := c.U32()
	return location{size: uint64(size), off: uint64(c.U32())}
}

func (f *File) bytes(l location) []byte { return f.clip(l.off, l.size) }

// order returns the dump's byte order.
func (f *File) order() binary.ByteOrder {
	if f.Big {
		return binary.BigEndian
	}
	return binary.LittleEndian
}

func (f *File) cursor(b []byte) binbuf.Cursor { return binbuf.New(b, 0, f.Big) }
