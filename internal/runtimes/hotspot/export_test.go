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

// Compiler says which compiler made the code at an address: "c1", "c2", or "native" of what calls a native method.
func (j *Java) Compiler(pc uint64) string {
	b := j.machine().blobAt(pc)
	switch {
	case b == nil:
		return ""
	case b.kind == kindNative:
		return "native"
	case b.level >= levelC1Least && b.level <= levelC1Most:
		return "c1"
	}
	return "c2"
}
