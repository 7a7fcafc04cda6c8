package signature

import (
	"strings"

	"github.com/corewalk/corewalk/report"
)

// phpName is the name of a function of PHP without what differs from one version to the next: closures of 8.4 have the function, or the file, and the
// line in which they are.
func phpName(name string) string {
	if i := strings.Index(name, "{closure:"); i >= 0 {
		name = name[:i] + "{closure}"
	}
	return bounded(report.Clean(name))
}

// phpFile is the name of a file without the line of the eval of which its code is.
func phpFile(file string) string {
	file, _, _ = strings.Cut(file, "(")
	return file
}
