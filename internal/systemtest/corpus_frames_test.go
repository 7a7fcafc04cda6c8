package systemtest

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/report"
)

// TestCorpusARM compares the stacks of the corpus's cores of ARM with what gdb and
// eu-stack find with the programs, which are not at hand here: frame records alone
// must lead through, and functions that have none must not be left out.
func TestCorpusARM(t *testing.T) {
	files := foreignDumps(t)
	empty := t.TempDir()
	for path, want := range map[string][]string{
		// raise, sigusr2, stdarg, backtracegen, start, start_thread, clone
		"elfutils/backtrace.aarch64.core":                    {"40c6d0 401ee0 401fe0 402038 402044 4038d0 42d3a0 end", "4048bc 401c00 40dc60 401d34 end"},
		"elfutils/testfile_aarch64_core":                     {"400548 7fb7390b38 40040c end"},
		"elfutils/testfile61":                                {"40272896"},
		"elfutils/testfile63":                                {"8500"},
		"lldb/netbsd-core/2lwp_process_SIGSEGV.aarch64.core": {"200100a44 200100a90 fc4507c37554", "fc4507be87f8 200100b38 2001009e8 end"},
	} {
		target, err := corewalk.Open(context.Background(), filepath.Join(files, filepath.FromSlash(path)), corewalk.WithSysroot(empty), corewalk.WithDebugDir(empty))
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		defer target.Close()
		r, err := target.Analyze(context.Background(), corewalk.AnalyzeOptions{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		for i := range r.Threads {
			var got []string
			for _, f := range r.Threads[i].Frames {
				if f.Trust == report.TrustScan { // in libraries without a file: nobody knows better
					break
				}
				got = append(got, fmt.Sprintf("%x", uint64(f.PC)))
			}
			if r.Threads[i].End == "bottom" && len(got) == len(r.Threads[i].Frames) {
				got = append(got, "end")
			}
			if text := strings.Join(got, " "); i >= len(want) || text != want[i] {
				t.Errorf("%s, thread %d: %s, want %q", path, i, text, want)
			}
		}
	}
}
