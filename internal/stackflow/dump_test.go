package stackflow_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/corewalk/corewalk/internal/debugfind"
	"github.com/corewalk/corewalk/internal/image"
)

func TestDump(t *testing.T) {
	s := os.Getenv("STACKFLOW_DUMP")
	if s == "" {
		t.Skip()
	}
	addr, _ := strconv.ParseUint(s, 0, 64)
	im, err := image.NewCache(&debugfind.Finder{}).Open(os.Getenv("STACKFLOW_FILE"))
	if err != nil {
		t.Fatal(err)
	}
	start, end, _ := im.EHFrame().FDEForPC(addr)
	f := im.Flow(archs[os.Getenv("STACKFLOW_ARCH")], start, end)
	last := ""
	for pc := start; pc < end; pc++ {
		l := ""
		rows, _ := f.Rows(nil, pc)
		for _, r := range rows {
			l += "\n     " + strconv.FormatInt(int64(r.CFA.Reg), 10) + "+" + strconv.FormatInt(r.CFA.Off, 10)
			if r.CFA.Deref {
				l += " deref"
			}
			if r.RA.Kind == 0 {
				l += " RA lost"
			}
		}
		if l != last {
			t.Logf("%#x: %s", pc, l)
			last = l
		}
	}
}
