package dumpbuild

import (
	"strings"
	"unicode/utf16"
)

// Types of streams in the samples that no method adds.
const (
	streamHandles    = 12
	streamUnloaded   = 14
	streamMisc       = 15
	streamThreadInfo = 17
	streamCommentW   = 11
	streamBreakpad   = 0x47670001
	streamCPUInfo    = 0x47670003
	streamStatus     = 0x47670004
	streamLSB        = 0x47670005
	streamCmdLine    = 0x47670006
	streamMaps       = 0x47670009
	streamCrashpad   = 0x43500001
	streamMacCrash   = 0x4d7a0001
	streamMacBoot    = 0x4d7a0002
	streamLimits     = 0x4d7a0003
	streamSoftErrors = 0x4d7a0004
)

// Samples returns dumps, by name, with every stream that programs of the three systems
// write.
func Samples() map[string][]byte {
	return map[string][]byte{"windows.dmp": Windows(), "linux.dmp": Linux(), "macos.dmp": MacOS()}
}

// Strange makes the samples with text added to each of their strings.
func Strange(text string) map[string][]byte {
	d := func() *Dump {
		d := New(false)
		d.added = text
		return d
	}
	return map[string][]byte{"windows.dmp": d().windows(), "linux.dmp": d().linux(), "macos.dmp": d().macOS()}
}

// Windows makes a dump of an access violation on x64 Windows, with what MiniDumpWriteDump
// and Crashpad write.
func Windows() []byte { return New(false).windows() }

func (d *Dump) windows() []byte {
	d.Time, d.Flags = 1700000100, 0x1826
	d.System(9, 2, 10, 0, 19041, "")
	stack := d.W().U64(0, 0x140001111, 0, 0x7ffe00001234).Pad(0x100).B
	at := d.Blob(stack)
	d.Threads(false,
		Thread{ID: 100, Class: 0x20, Priority: 1, TEB: 0x30000, StackStart: 0x8000, Stack: at, Context: d.Blob(d.AMD64(0x10001f, 0x7ffe00001200, 0x8000, 0))},
		Thread{ID: 200, Suspend: 1, Class: 0x20, TEB: 0x31000, Context: d.Blob(d.AMD64(0x10001f, 0x7ffe00001200, 0x9000, 0))},
		Thread{ID: 300})
	d.ThreadNames([]uint32{100, 200}, []string{"main", "worker \u00e9"})
	info := d.W().U32(12, 64, 2)
	info.U32(100, 0, 0, 0x103).U64(133400000000000000, 0, 10000000, 25000000, 0x140001000, 0xff)
	info.U32(300, 2, 0, 0x103).U64(0, 0, 0, 0, 0x7ffe00002000, 0xff)
	d.Stream(streamThreadInfo, info.B)
	d.Modules(
		Module{Base: 0x140000000, Size: 0x3000, Stamp: 0x5f5e1000, Name: `C:\prog\app one.exe`, FileHi: 1<<16 | 2, FileLo: 3<<16 | 4, CodeView: d.PDB70(0x5a9832e5, 0x2872, 0x41c1, [8]byte{0x83, 0x8e, 0xd9, 0x89, 0x14, 0xe9, 0xb7, 0xff}, 1, `D:\build\app.pdb`)},
		Module{Base: 0x7ffe00000000, Size: 0x10000, Stamp: 0x11d9d08f, Name: `C:\Windows\System32\ntdll.dll`, FileHi: 10 << 16, FileLo: 19041<<16 | 1, CodeView: d.PDB70(1, 2, 3, [8]byte{4}, 10, "ntdll.pdb")})
	d.Exception(Exception{Thread: 100, Code: 0xc0000005, Address: 0x140001234, Params: []uint64{0, 0x10}, Context: d.Blob(d.AMD64(0x10001f, 0x140001234, 0x8000, 0))})
	d.MemoryList(
		Memory{Start: 0x8000, Loc: &at},
		Memory{Start: 0x30000, Data: d.W().U64(0, 0x9000, 0x7000).Pad(0x68).U32(5).B},
		Memory{Start: 0x31000, Data: d.W().U64(0, 0xa000, 0x9000).Pad(0x68).U32(4242).B},
		Memory{Start: 0x140001200, Data: d.W().Pad(0x34).Bytes([]byte{0x48, 0x8b, 0x40, 0x10}).Pad(0x80).B}) // mov rax, [rax+16]
	d.MemoryInfo(48,
		Region{Base: 0x7000, Size: 0x1000, State: 0x1000, Protect: 0x104, Type: 0x20000},
		Region{Base: 0x8000, Size: 0x1000, State: 0x1000, Protect: 4, Type: 0x20000},
		Region{Base: 0x10000, Size: 0x10000, State: 0x10000, Protect: 1},
		Region{Base: 0x140001000, Size: 0x1000, State: 0x1000, Protect: 0x20, Type: 0x1000000},
		Region{Base: 0x140002000, Size: 0x1000, State: 0x1000, Protect: 8, Type: 0x1000000})
	handles := d.W().U32(16, 32, 2, 0)
	handles.U64(4).U32(d.String("File"), d.String(`\Device\HarddiskVolume1\log.txt`), 0, 0x120089, 1, 1)
	handles.U64(0x10).U32(d.String("Event"), 0, 0, 0x1f0003, 2, 3)
	d.Stream(streamHandles, handles.B)
	unloaded := d.W().U32(12, 24, 2)
	unloaded.U64(0x7ff900000000).U32(0x5000, 0, 0xb1054d2a, d.String(`C:\plugins\old.dll`))
	unloaded.U64(0x7ff900001000).U32(0x5000, 0, 0xb1054d2a, d.String(`C:\plugins\old.dll`))
	d.Stream(streamUnloaded, unloaded.B)
	misc := d.W().U32(232, 0x1|0x2|0x4|0x10|0x40, 4242, 1700000000, 7, 8, 3701, 3600, 3701, 0, 0, 0x2000, 0, 0, 1)
	misc.U32(0xffffffc4).U16(utf16.Encode([]rune("CET"))...)
	d.Stream(streamMisc, misc.Pad(232).B)
	d.Stream(streamCommentW, d.W().U16(units("written at the test's wish"+d.added)...).U16(0).B)
	d.Stream(streamBreakpad, d.W().U32(3, 300, 100).B)
	d.crashpad(1)
	return d.Bytes()
}

// crashpad adds annotations of the program and of a module.
func (d *Dump) crashpad(module uint32) {
	dict := func(pairs ...string) Loc {
		w := d.W().U32(uint32(len(pairs) / 2))
		for _, s := range pairs {
			w.U32(d.UTF8(s))
		}
		return d.Blob(w.B)
	}
	lines := d.Blob(d.W().U32(1, d.UTF8("abort() called")).B)
	objects := d.Blob(d.W().U32(2, d.UTF8("text")).U16(1, 0).U32(d.UTF8("value"), d.UTF8("own")).U16(0x8001, 0).U32(d.UTF8("\x01\xff")).B)
	of := d.Blob(d.W().U32(1).Loc(lines).Loc(dict("_version", "1.4.3")).Loc(objects).B)
	list := d.Blob(d.W().U32(1, module).Loc(of).B)
	w := d.W().U32(1).U32(0x42f9de72).U16(0x518a, 0x43dd).Bytes([]byte{0x97, 0xd7, 0x8d, 0xdc, 0x32, 0x8d, 0x36, 0x62}).U32(1).U16(2, 3).Zeros(8)
	w.Loc(dict("hello", "world", "prod", "App")).Loc(list).U32(0).U64(0)
	d.Stream(streamCrashpad, w.B)
}

// Linux makes a dump of a segmentation fault on x86-64 Linux, as Breakpad writes it.
func Linux() []byte { return New(false).linux() }

func (d *Dump) linux() []byte {
	d.Time = 1700000100
	d.System(9, 0x8201, 0, 0, 0, "Linux 5.4.0-26-generic #30-Ubuntu SMP Mon Apr 20 16:58:30 UTC 2020 x86_64")
	stack := d.Blob(d.W().U64(0, 0x401111, 0).Pad(0x100).B)
	d.Threads(false, Thread{ID: 1304, StackStart: 0x7ffe00000000, Stack: stack, Context: d.Blob(d.AMD64(0x10000b, 0x401d72, 0x7ffe00000000, 0))},
		Thread{ID: 1305, Context: d.Blob(d.AMD64(0x10000b, 0x401d00, 0x7ffe00000080, 0))})
	d.Modules(Module{Base: 0x400000, Size: 0x2000, Name: "/bin/app", CodeView: d.BuildID([]byte{0xf1, 0xc3, 0xbc, 0xc0, 0x27, 0x98, 0x65, 0xfe, 0x30, 0x58, 0x40, 0x4b, 0x28, 0x31, 0xd9, 0xe6, 0x41, 0x35, 0x38, 0x6c})},
		Module{Base: 0x7f0000000000, Size: 0x2000, Name: "/lib/libc-2.31.so", CodeView: d.BuildID([]byte{4, 5, 6})})
	d.Exception(Exception{Thread: 1304, Code: 11, Flags: 1, Address: 0x45, Context: d.Blob(d.AMD64(0x10000b, 0x401d72, 0x7ffe00000000, 0))})
	d.MemoryList(Memory{Start: 0x7ffe00000000, Loc: &stack})
	text := func(kind uint32, lines ...string) {
		d.Stream(kind, []byte(strings.Join(lines, d.added+"\n")+d.added+"\n"))
	}
	text(streamMaps, "00400000-00402000 r-xp 00000000 08:01 11 /bin/app", "7f0000000000-7f0000002000 r-xp 00000000 08:01 12 /lib/libc-2.31.so",
		"7ffe00000000-7ffe00021000 rw-p 00000000 00:00 0 [stack]")
	text(streamCPUInfo, "processor\t: 0", "microcode\t: 0xf0", "flags\t\t: fpu")
	text(streamStatus, "Name:\tapp", "Pid:\t1304")
	text(streamLSB, "DISTRIB_ID=Ubuntu", "DISTRIB_RELEASE=20.04", "DISTRIB_CODENAME=focal", `DISTRIB_DESCRIPTION="Ubuntu 20.04 LTS"`)
	d.Stream(streamCmdLine, []byte("/bin/app"+d.added+"\x00--far"+d.added+"\x00"))
	text(streamLimits, "Limit                     Soft Limit           Hard Limit           Units     ",
		"Max cpu time              unlimited            unlimited            seconds   ",
		"Max open files            1024                 1048576              files     ",
		"Max nice priority         0                    0                    ")
	text(streamSoftErrors, `[{"InitErrors":["NoPermission"]}]`)
	return d.Bytes()
}

// MacOS makes a dump of a program that called abort on arm64 macOS, as Mozilla's and
// Crashpad's writers would.
func MacOS() []byte { return New(false).macOS() }

func (d *Dump) macOS() []byte {
	d.Time = 1700000100
	d.System(12, 0x8101, 13, 6, 1, "22G313")
	d.Threads(false, Thread{ID: 77, Context: d.Blob(d.Context(912).Put(0, 4, 0x400003).Put(0x108, 8, 0x100001000).Put(0x100, 8, 0x16fdff000).B)})
	d.Modules(Module{Base: 0x100000000, Size: 0x4000, Name: "/Applications/App", CodeView: d.PDB70(0xef1091e3, 0x81da, 0x369b, [8]byte{0x90, 0x39, 0xea, 0x15, 0x91, 0xd0, 0x7e, 0x0b}, 0, "App")})
	d.Exception(Exception{Thread: 77, Code: 1, Flags: 1, Address: 0x10, Context: d.Blob(d.Context(912).Put(0, 4, 0x400003).Put(0x108, 8, 0x100001000).Put(0x100, 8, 0x16fdff000).B)})
	d.Misc(3, 77, 1700000092)
	const start = 48
	record := d.Blob(d.W().U64(0, 5, 1, 2, 3).Pad(start).Bytes([]byte("/usr/lib/libsystem_c.dylib" + d.added + "\x00abort() called" + d.added + "\x00\x00\x00\x00")).B)
	d.Stream(streamMacCrash, d.W().U32(streamMacCrash, 1, start).Loc(record).Zeros(19*8).B)
	d.Stream(streamMacBoot, d.W().U32(streamMacBoot).U64(uint64(d.String("-v debug=0x144"))).B)
	d.crashpad(0)
	return d.Bytes()
}
