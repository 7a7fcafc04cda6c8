package minidump

import "encoding/json"

// Mac is what Mozilla's writer adds on macOS.
type Mac struct {
	CrashInfo []MacCrashInfo
	BootArgs  string
}

// A MacCrashInfo is a module's __crash_info section, in which it says why it ended the
// process.
type MacCrashInfo struct {
	Version                                          uint64
	Thread, DialogMode, AbortCause                   uint64
	ModulePath, Message, Signature, Backtrace, More2 string
}

// maxMacRecords is the maximum number of records in the stream.
const maxMacRecords = 20

// readMacCrash decodes the list of records and each record: numbers, and at a fixed offset
// NUL-terminated strings.
func (f *File) readMacCrash(s []byte) {
	c := f.cursor(s)
	c.Skip(4)
	count, start := c.U32(), uint64(c.U32())
	if count > maxMacRecords {
		f.warnf("stream MacosCrashInfo: has %d records, at most %d are possible", count, maxMacRecords)
		count = maxMacRecords
	}
	for range count {
		b := f.bytes(readLocation(&c))
		r := f.cursor(b)
		r.Skip(8)
		m := MacCrashInfo{Version: r.U64(), Thread: r.U64(), DialogMode: r.U64()}
		if c.Error != nil || r.Error != nil || start > uint64(len(b)) || !f.spend(len(b)) {
			f.warnf("stream MacosCrashInfo: truncated record")
			return
		}
		if m.Version >= 5 && start >= 40 {
			m.AbortCause = r.U64()
		}
		r.Seek(int(start))
		for _, field := range []*string{&m.ModulePath, &m.Message, &m.Signature, &m.Backtrace, &m.More2} {
			*field = string(r.CString())
		}
		f.Mac.CrashInfo = append(f.Mac.CrashInfo, m)
	}
}

func (f *File) readMacBoot(s []byte) {
	c := f.cursor(s)
	c.Skip(4)
	f.Mac.BootArgs, _ = f.stringAt(c.U64())
}

// maxSoftErrors limits the writer's own error report, in bytes.
const maxSoftErrors = 1 << 20

func (f *File) readSoftErrors(s []byte) {
	if len(s) > maxSoftErrors || !json.Valid(s) {
		f.warnf("stream SoftErrors: %d bytes are not JSON, or too long", len(s))
		return
	}
	f.SoftErrors = s
}
