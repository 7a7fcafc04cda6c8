package hotspot

import (
	"fmt"

	"github.com/corewalk/corewalk/unwind"
)

// Code shows the code that an interrupted frame runs.
func (j *Java) Code(f *unwind.Frame) string {
	b := j.machine().blobAt(f.LookupAddr())
	if b == nil || !interrupted(f) {
		return ""
	}
	return fmt.Sprintf("%s+%#x, complete at %d, frame of %d: % x", b.name, f.RA()-b.begin, b.complete, b.frameSize, j.vm.Bytes(f.RA(), 32))
}
