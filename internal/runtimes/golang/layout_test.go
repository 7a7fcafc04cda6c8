package golang

import (
	"strings"
	"testing"

	"github.com/corewalk/corewalk/internal/files/image"
)

// TestTable: every version and architecture that is supported has what the room reads.
func TestTable(t *testing.T) {
	for minor := 18; minor <= 26; minor++ {
		for _, machine := range []string{"amd64", "arm64", "386"} {
			l := readLayout(layoutsText, minor, machine)
			if l == nil {
				t.Fatalf("1.%d %s is missing", minor, machine)
			}
			if len(l.reasons) < 20 || l.reasons[2] != "IO wait" {
				t.Errorf("1.%d: reasons %q", minor, l.reasons)
			}
			for _, field := range strings.Fields("g:goid g:atomicstatus g:stack.lo g:sched.sp g:sched.pc g:waitreason g:waiting g:gopc g:startpc g:m g:lockedm " +
				"m:curg m:procid sudog:g sudog:elem sudog:c sudog:waitlink hchan:qcount hchan:recvq.first hchan:sendq.first hchan:elemtype " +
				"semaroot:treap semaroot:nwait semtable:stride semtable:count mutex:sema rwmutex:readersem rtype:str") {
				name, f, _ := strings.Cut(field, ":")
				if _, ok := l.of(name).off(f); !ok {
					t.Errorf("1.%d %s: no offset of %s", minor, machine, field)
				}
			}
		}
	}
}

func TestNearestVersion(t *testing.T) {
	for version, want := range map[string]string{
		"devel go1.27-5f0a": "derived from go1.26", "go1.17.3": "derived from go1.18", "go1.40": "", "": "derived from go1.26", "gc": "derived from go1.26",
	} {
		got := ""
		if l := nearLayouts(layoutsText, image.GoMinor(version), version, "amd64"); len(l) > 0 {
			got = l[0].source
		}
		if want == "" && got != "" || !strings.HasPrefix(got, want) {
			t.Errorf("%q: %q, want %q", version, got, want)
		}
	}
}
