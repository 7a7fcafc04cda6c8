package signature

import (
	"strconv"
	"strings"

	"github.com/corewalk/corewalk/report"
)

// damage tells a crash by the block of the heap that was used wrongly before, if memory shows which: where that is noticed is chance. It is "" for none.
// A block that was written past is told by its size alone: what it was may be lost with what was overwritten. An array of numbers has another size each time,
// and is told by what they are, and a text by the member that points to it. A block that was used after it had been given back is told by its type, too, which the code has that uses it, or whoever still
// points to it; there it must be known, and not be one of a library's own. Whether it was handed out again until then is chance.
func damage(c *report.Crash, class string) string {
	if c == nil || class != report.CrashHeapCorruption && class != "access" && class != "call" {
		return ""
	}
	for i := range c.Causes {
		b := c.Causes[i].Block
		if b == nil {
			continue
		}
		size := " block of " + strconv.FormatUint(b.Size, 10) + " bytes"
		switch b.Fault {
		case report.BlockOverrun:
			switch {
			case b.Elements != "":
				return b.Fault + " block: " + b.Elements // how many there are may be another number each time
			case b.Text != "":
				return b.Fault + " block: text of " + b.Text // so may its length
			}
			return b.Fault + size
		case report.BlockFreed, report.BlockReused:
			if t := Normalize(b.Type); t != "" && !strings.HasPrefix(t, "_") && (b.Fault == report.BlockReused || c.Causes[i].Confidence != report.Possible) {
				return report.BlockFreed + size + ": " + t
			}
		}
	}
	return ""
}
