package systemtest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/corewalk/corewalk"
	"github.com/corewalk/corewalk/internal/fixture"
	"github.com/corewalk/corewalk/report"
)

var (
	located = regexp.MustCompile(`(0x[0-9a-f]+) is located (\d+) bytes (inside of|to the right of|to the left of|after|before) (\d+)-byte region \[(0x[0-9a-f]+),`)
	byEvent = regexp.MustCompile(`^(freed|(?:previously )?allocated) by thread T(\d+)`)
	inFrame = regexp.MustCompile(`^ +#(\d+) 0x([0-9a-f]+) in ([^ (]+)\S* .*?([^/ ]+\.cpp):(\d+)`)
)

// What is said of a block is what the sanitizer itself wrote of it: where the address is, who allocated and who freed it.
func TestSanitizerReports(t *testing.T) {
	for _, compiler := range []string{"g++", "clang++-19"} {
		for _, bug := range []string{"o", "n", "l", "b", "u", "t", "d", "m"} {
			t.Run(compiler+" "+bug, func(t *testing.T) {
				if compiler != "g++" || bug != "u" && bug != "m" {
					fixture.Long(t)
				}
				t.Parallel()
				exe := fixture.Compile(t, compiler, "heap/asan.cpp", "-g", "-O0", "-pthread", "-fsanitize=address")
				dir := t.TempDir()
				var said bytes.Buffer
				cmd := fixture.Dies(dir, exe, bug)
				cmd.Env, cmd.Stderr = append(os.Environ(), "ASAN_OPTIONS=disable_coredump=0:abort_on_error=1"), &said
				cmd.Run() // fails: the program dies
				core := fixture.CoreIn(t, dir)
				target, err := corewalk.Open(context.Background(), core)
				if err != nil {
					t.Fatal(err)
				}
				defer target.Close()
				facts, err := target.Facts(corewalk.FactsOptions{})
				if err != nil {
					t.Fatal(err)
				}
				m := located.FindStringSubmatch(said.String())
				if m == nil {
					t.Fatalf("the sanitizer says %s", said.String())
				}
				var addr uint64
				fmt.Sscan(m[1], &addr)
				p, err := facts.At(context.Background(), addr)
				k := p.Block
				if err != nil || k == nil || k.Allocated == nil {
					t.Fatalf("%+v, %v", p, err)
				}
				distance := addr - uint64(k.Start)
				switch m[3] {
				case "to the left of", "before":
					distance = -distance
				case "to the right of", "after":
					distance -= k.Size
				}
				if fmt.Sprint(distance) != m[2] || fmt.Sprint(k.Size) != m[4] || fmt.Sprintf("%#x", uint64(k.Start)) != m[5] {
					t.Errorf("%s, want %s", p.Text(), m[0])
				}
				want := blockEvents(said.String())
				if got := blockEventText(k.Allocated); got != want["allocated"] || want["allocated"] == "" {
					t.Errorf("allocated\n%s, want\n%s", got, want["allocated"])
				}
				if got := blockEventText(k.Freed); got != want["freed"] {
					t.Errorf("freed\n%s, want\n%s", got, want["freed"])
				}
			})
		}
	}
}

// blockEvents are the stacks of a report, of the program's own functions: what is done, by which thread, and the frames.
func blockEvents(text string) map[string]string {
	out := map[string]string{}
	what := ""
	for line := range strings.SplitSeq(text, "\n") {
		if m := byEvent.FindStringSubmatch(line); m != nil {
			what = strings.TrimPrefix(m[1], "previously ")
			out[what] = "T" + m[2] + "\n"
		} else if m := inFrame.FindStringSubmatch(line); m != nil && what != "" && m[4] == "asan.cpp" {
			out[what] += fmt.Sprintf("%s %s %s:%s\n", m[2], m[3], m[4], m[5])
		} else if line == "" {
			what = ""
		}
	}
	return out
}

func blockEventText(e *report.BlockEvent) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("T%d\n", e.Thread)
	for _, c := range e.Calls {
		if filepath.Base(c.Source.File) == "asan.cpp" {
			name, _, _ := strings.Cut(c.Function, "(")
			text += fmt.Sprintf("%x %s asan.cpp:%d\n", uint64(c.Address)-1, name, c.Source.Line)
		}
	}
	return text
}
