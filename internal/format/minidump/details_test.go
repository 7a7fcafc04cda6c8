package minidump_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/format/minidump"
	"github.com/corewalk/corewalk/internal/format/minidump/dumpbuild"
)

func TestParseLimits(t *testing.T) {
	text := "Limit                     Soft Limit           Hard Limit           Units     \n" +
		"Max cpu time              unlimited            unlimited            seconds   \n" +
		"Max file locks            18446744073709551615 unlimited            locks     \n" +
		"Max nice priority         0                    0                    \n" +
		"Max realtime timeout      unlimited            12\x00\x00"
	want := []minidump.Limit{{"Max cpu time", "unlimited", "unlimited", "seconds"}, {"Max file locks", "18446744073709551615", "unlimited", "locks"},
		{"Max nice priority", "0", "0", ""}, {"Max realtime timeout", "unlimited", "12", ""}}
	l := minidump.Linux{Limits: []byte(text)}
	if got := l.ParseLimits(); !slices.Equal(got, want) {
		t.Errorf("have %q\nwant %q", got, want)
	}
	for _, junk := range []string{"", "\x00", "Max", strings.Repeat("x", 26) + "many", "Max cpu time              -1                   2"} {
		l := minidump.Linux{Limits: []byte(junk)}
		if got := l.ParseLimits(); len(got) != 0 {
			t.Errorf("%q: %q", junk, got)
		}
	}
}

func TestMicrocode(t *testing.T) {
	for text, want := range map[string]string{
		"processor\t: 0\nmicrocode\t: 0xf0\n": "0xf0", "microcode : 2B\x00": "0x2b", "microcode: no": "", "": "", "microcode": "",
	} {
		l := minidump.Linux{CPUInfo: []byte(text)}
		if got := l.Microcode(); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestLinuxVersion(t *testing.T) {
	for csd, want := range map[string]string{
		"Linux 4.9.60-linuxkit #1 SMP Mon Nov 6 2017 x86_64": "4.9.60-linuxkit #1 SMP Mon Nov 6 2017",
		"Linux 3.16.0 #99 SMP x86_64 GNU/Linux":              "3.16.0 #99 SMP",
		"#30-Ubuntu SMP x86_64":                              "5.4.1 #30-Ubuntu SMP x86_64",
		"Linux 3.16":                                         "5.4.1 Linux 3.16",
	} {
		d := dumpbuild.New(false)
		d.System(cpuAMD64, linux, 5, 4, 1, csd)
		if got := parse(t, d).System.Version(); got != want {
			t.Errorf("%q: %q, want %q", csd, got, want)
		}
	}
}

func TestRegionWords(t *testing.T) {
	for _, tt := range []struct {
		state, protect, kind uint32
		want                 string
	}{
		{minidump.MemCommit, minidump.PageReadWrite, minidump.MemPrivate, "commit rw- private"},
		{minidump.MemCommit, minidump.PageReadWrite | minidump.PageGuard, minidump.MemPrivate, "commit rw- guard private"},
		{minidump.MemCommit, minidump.PageExecuteWriteCopy, minidump.MemImage, "commit rwx write-copy image"},
		{minidump.MemCommit, minidump.PageNoAccess | 0x200, minidump.MemMapped, "commit --- no-cache mapped"},
		{minidump.MemReserve, 0, minidump.MemPrivate, "reserve --- private"},
		{7, 0, 9, "0x7 --- 0x9"},
	} {
		r := minidump.Region{State: tt.state, Protect: tt.protect, Type: tt.kind}
		if got := r.StateName() + " " + r.Protection() + " " + r.TypeName(); got != tt.want {
			t.Errorf("%+v: %q, want %q", r, got, tt.want)
		}
	}
}

func TestUnloadedCodeID(t *testing.T) {
	u := minidump.UnloadedModule{Size: 0xa1000, Timestamp: 0xb1054d2}
	if got := u.CodeID(); got != "0B1054D2a1000" {
		t.Error(got)
	}
	if got := (&minidump.UnloadedModule{}).CodeID(); got != "" {
		t.Error(got)
	}
}
