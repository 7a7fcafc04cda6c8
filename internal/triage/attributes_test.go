package triage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/triage/ledger"
	"github.com/corewalk/corewalk/report"
)

// What a dump says of itself becomes attributes, as many and as long as they may be.
func TestAttributes(t *testing.T) {
	r := &report.Report{Dump: report.Dump{OS: "linux", Arch: "x86-64"},
		Details: &report.Details{System: report.System{Version: "6.1", CPU: "GenuineIntel", Distribution: &report.Distribution{ID: "debian", Release: "12"}}, Crashpad: &report.Crashpad{ClientID: "c1"},
			Annotations: []report.Annotation{{Kind: report.AnnotationSimple, Key: "ver", Value: "1.2"}, {Kind: report.AnnotationList, Value: "a line"}, {Kind: report.AnnotationObject, Key: "gpu", Value: "x"}}},
		Modules: []report.Module{{Path: "/bin/shop", Main: true, BuildID: "00", Status: report.ModuleMatched, File: "/bin/shop", Symbols: report.SymbolsDWARF}, {Path: "/lib/libpay.so.1", BuildID: "0123456789abcdef", Status: report.ModuleMissing}, {Path: `C:\gpu.dll`, Version: "10.0.1.2"}, {Path: "/lib/unused.so", BuildID: "11"},
			{Path: "/lib/libtax.so", BuildID: "0a0b0c", Status: report.ModuleMatched, File: "/s/.build-id/0a/0b0c", DebugFile: "/f/0a0b0c/debuginfo", Symbols: report.SymbolsDWARF}},
		Threads: []report.Thread{{Frames: []report.Frame{{Module: "/lib/libpay.so.1"}, {Module: "/lib/libpay.so.1"}, {Module: `C:\gpu.dll`}, {Module: "/lib/libtax.so"}, {Module: "/bin/shop"}}}}}
	var d ledger.Dump
	attributes(&d, r)
	if got, want := fmt.Sprint(d.Attributes), "[[os linux] [arch x86-64] [os_version 6.1] [distribution debian 12] [cpu GenuineIntel] [ver 1.2] [gpu x] [lacks libpay.so.1 buildid/0123456789abcdef/executable] [module libpay.so.1 0123456789ab] [module gpu.dll 10.0.1.2] [uses libtax.so buildid/0a0b0c/executable] [uses libtax.so buildid/0a0b0c/debuginfo] [module libtax.so 0a0b0c]]"; got != want || d.Client != "c1" {
		t.Errorf("%s, want %s; client %s", got, want, d.Client)
	}
	if got := fmt.Sprint(d.Needed); got != "map[buildid/0123456789abcdef/executable:2]" {
		t.Errorf("frames: %s", got)
	}
	r.Details.Annotations = []report.Annotation{{Kind: report.AnnotationSimple, Key: "long", Value: strings.Repeat("x", maxAttributeText)}}
	for i := range 1000 {
		r.Details.Annotations = append(r.Details.Annotations, report.Annotation{Kind: report.AnnotationSimple, Key: fmt.Sprint("k", i), Value: "v"})
	}
	attributes(&d, r)
	if len(d.Attributes) != maxAttributes || strings.Contains(fmt.Sprint(d.Attributes), "long") {
		t.Errorf("%d attributes", len(d.Attributes))
	}
}
