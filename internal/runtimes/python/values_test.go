package python_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
)

// TestValues compares variables with what Python prints of them.
func TestValues(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs all CPythons of this machine")
	}
	for version, python := range sampled(t) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			core := dump(t, python, "values.py", "said")
			b, err := os.ReadFile(filepath.Join(filepath.Dir(core), "said.json"))
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]string
			if err := json.Unmarshal(b, &want); err != nil {
				t.Fatal(err)
			}
			r := analyze(t, core, corewalk.AnalyzeOptions{})
			got := map[string]string{}
			for _, f := range r.Threads[0].Frames {
				if f.Language != "python" || f.Function != "die" {
					continue
				}
				for _, v := range append(f.Args, f.Locals...) {
					got[v.Name] = v.Value
				}
			}
			for name, text := range want {
				if strings.Contains(text, "ValueError") {
					text = strings.Replace(text, ",)", ")", 1) // as 3.6 prints it
				}
				text = strings.Replace(text, "'__main__.", "'", 1) // the modules of classes are not read
				if got[name] != text && name != "huge" {
					t.Errorf("%s = %s, Python prints %s", name, got[name], text)
				}
			}
			if !strings.HasPrefix(got["huge"], want["huge"][:90]) {
				t.Errorf("huge = %s, Python prints %s", got["huge"], want["huge"])
			}
			if raw := got["raw"]; raw != "<Plain a=1, b='x'>" {
				t.Errorf("raw = %s", raw)
			}
			if fn := got["fn"]; !strings.HasPrefix(fn, "<function die.<locals>.<lambda>") {
				t.Errorf("fn = %s", fn)
			}
		})
	}
}
