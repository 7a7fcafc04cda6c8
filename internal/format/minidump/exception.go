package minidump

import (
	"bytes"
	"slices"
)

// An Exception is the content of the Exception stream.
type Exception struct {
	ThreadID uint32
	// Code is the exception code on Windows, the signal number on Linux, the exception type
	// on macOS. Flags is si_code on Linux, the first code on macOS. Address is the
	// instruction's on Windows, si_addr on Linux, the second code on macOS.
	Code, Flags uint32
	Nested      uint64 // address of the nested exception record
	Address     uint64
	Params      []uint64
	Context     []byte // the registers at the exception, or nil
	// Description says why a thread stopped, if LLDB wrote the record: Address is then where the thread was, whatever the signal, and there are no
	// flags and parameters.
	Description string
}

// maxParams is EXCEPTION_MAXIMUM_PARAMETERS.
const maxParams = 15

// byLLDB marks, as flags, a record that has a text in place of parameters: "LLDB".
const byLLDB = 0x4c4c4442

// readExceptions decodes the streams of exceptions. LLDB writes one for each thread that something stopped: the exception is the first that
// is a fault, otherwise the first that is anything, as a signal that stopped all.
func (f *File) readExceptions(streams [][]byte) {
	rank := func(e *Exception) int {
		switch {
		case e.Code == 0 || e.Code == 0xffffffff: // nothing; asked for
			return 0
		case f.System.Platform.Linux() && !slices.Contains(fatal, e.Code):
			return 1
		}
		return 2
	}
	for _, s := range streams[:min(len(streams), maxExceptions)] {
		if e := f.readException(s); e != nil && (f.Exception == nil || rank(e) > rank(f.Exception)) {
			f.Exception = e
		}
	}
	if len(streams) > 1 && f.Exception != nil {
		f.warnf("stream Exception: occurs %d times, using that of thread %d", len(streams), f.Exception.ThreadID)
	}
}

// maxExceptions is how many streams of exceptions are read.
const maxExceptions = 10_000

// fatal are Linux's numbers of signals that a program causes itself: SIGQUIT and what stops a process for a debugger are not among them.
var fatal = []uint32{4, 6, 7, 8, 11, 31}

// readException decodes MINIDUMP_EXCEPTION_STREAM (168 bytes).
func (f *File) readException(s []byte) *Exception {
	c := f.cursor(s)
	e := &Exception{ThreadID: c.U32()}
	c.Skip(4)
	e.Code, e.Flags, e.Nested, e.Address = c.U32(), c.U32(), c.U64(), c.U64()
	n := c.U32()
	c.Skip(4)
	if c.Error != nil {
		f.warnf("stream Exception: truncated after %d bytes", len(s))
		return nil
	}
	if e.Flags == byLLDB {
		text, _, _ := bytes.Cut(c.Bytes(8*maxParams), []byte{0})
		e.Flags, e.Description = 0, string(bytes.ToValidUTF8(text, nil))
		if loc := readLocation(&c); c.Error == nil {
			e.Context = f.context(e.ThreadID, loc)
		}
		return e
	}
	if n > maxParams {
		f.warnf("stream Exception: has %d parameters, at most %d are possible", n, maxParams)
		n = maxParams
	}
	all := make([]uint64, maxParams)
	for i := range all {
		all[i] = c.U64()
	}
	e.Params = all[:n]
	if loc := readLocation(&c); c.Error == nil {
		e.Context = f.context(e.ThreadID, loc)
	}
	return e
}

// A BreakpadInfo says which threads wrote and requested the dump; 0 means unknown.
type BreakpadInfo struct{ DumpThread, RequestingThread uint32 }

// readBreakpadInfo decodes MDRawBreakpadInfo.
func (f *File) readBreakpadInfo(s []byte) {
	c := f.cursor(s)
	valid, dump, requesting := c.U32(), c.U32(), c.U32()
	if c.Error != nil {
		f.warnf("stream BreakpadInfo: truncated after %d bytes", len(s))
		return
	}
	f.Breakpad = &BreakpadInfo{}
	if valid&1 != 0 {
		f.Breakpad.DumpThread = dump
	}
	if valid&2 != 0 {
		f.Breakpad.RequestingThread = requesting
	}
}

// An Assertion is a failure for which the C library called Breakpad's handler.
type Assertion struct {
	Expression, Function, File string
	Line                       uint32
	Type                       uint32 // 1 invalid parameter, 2 call of a pure virtual function
}

// readAssertion decodes MDRawAssertionInfo.
func (f *File) readAssertion(s []byte) {
	c := f.cursor(s)
	const chars = 128
	expr, fn, file := c.Bytes(2*chars), c.Bytes(2*chars), c.Bytes(2*chars)
	a := &Assertion{Expression: f.utf16(expr), Function: f.utf16(fn), File: f.utf16(file), Line: c.U32(), Type: c.U32()}
	if c.Error != nil {
		f.warnf("stream AssertionInfo: truncated after %d bytes", len(s))
	}
	f.Assertion = a
}

// settleCrash checks that the exception's thread is in the thread list.
func (f *File) settleCrash() {
	e := f.Exception
	if e == nil || f.thread(e.ThreadID) != nil {
		return
	}
	if len(e.Context) == 0 {
		f.warnf("the exception's thread %d is not in the thread list", e.ThreadID)
		return
	}
	// Written from outside, or across process id namespaces.
	f.warnf("the exception's thread %d is not in the thread list; adding it with the registers of the exception", e.ThreadID)
	f.Threads = append(f.Threads, Thread{ID: e.ThreadID, Context: e.Context})
}

// CrashedThread returns the index of the thread that the dump is about: the exception's
// thread, otherwise the thread that requested the dump, otherwise the first that did not
// write it. It returns -1 if there are no threads.
func (f *File) CrashedThread() int {
	dump := uint32(0)
	if b := f.Breakpad; b != nil {
		dump = b.DumpThread
	}
	requesting := func(id uint32) bool {
		return f.Breakpad != nil && f.Breakpad.RequestingThread != 0 && id == f.Breakpad.RequestingThread
	}
	best, rank := -1, 0
	for i := range f.Threads {
		id, r := f.Threads[i].ID, 1
		switch {
		case f.Exception != nil && id == f.Exception.ThreadID:
			r = 4
		case requesting(id):
			r = 3
		case dump == 0 || id != dump:
			r = 2
		}
		if r > rank {
			best, rank = i, r
		}
	}
	return best
}
