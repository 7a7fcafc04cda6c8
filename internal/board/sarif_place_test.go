package board

import "testing"

// The place of a result is that of the program's own code, not of the C library that
// ended it.
func TestSARIFPlace(t *testing.T) {
	const frames = `"threads":[{"id":7,"crashed":true,"frames":[
{"index":0,"function":"raise","source":{"file":"raise.c","line":26}},
{"index":1,"function":"drop","source":{"file":"/src/pool.c","line":88}},
{"index":2,"function":"_start"}]}]}`
	for crash, want := range map[string]string{
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":1,"thread":7},`:  "drop",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":2,"thread":7},`:  "raise",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":-1,"thread":7},`: "raise",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","frame":9,"thread":7},`:  "raise",
		`{"schema":"corewalk/1","crash":{"signal":"SIGABRT","thread":7},`:            "raise",
		`{"schema":"corewalk/1",`: "raise",
	} {
		all, look := representativeFrames([]byte(crash + frames))
		if len(all) != 3 || look == nil || look.Function != want {
			t.Errorf("%s: %+v, want %s", crash, look, want)
		}
	}
}
