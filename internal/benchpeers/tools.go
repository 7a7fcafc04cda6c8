package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// asked is what the tools are asked on a workload.
type asked struct {
	want     []string // what all of them must print
	corewalk []string // flags of corewalk
	full     bool     // all variables
}

// The names of corewalk in tables.
const (
	first   = "corewalk, first"
	second  = "corewalk"
	noCache = "corewalk --no-cache"
	emptyC  = "an empty C program"
	emptyGo = "an empty Go program"
)

// The order of tables.
var order = []string{emptyC, emptyGo, second, first, noCache, "eu-stack", "eu-stack -i -v", "gdb", "lldb", "dlv"}

// ordinary returns the tools for one core: corewalk as often as it has caches, and the peers.
func (m *measurer) ordinary(dir, program string, a asked) []tool {
	program = filepath.Join(m.builder.dir, dir, program)
	core := filepath.Join(m.builder.dir, dir, "core")
	one := func(name string, line ...string) tool {
		return tool{name: name, lines: [][]string{line}, want: [][]string{a.want}}
	}
	tools := m.ours(append(append([]string{m.corewalk}, a.corewalk...), core, program), a.want)
	bt, lldb := "thread apply all bt", "thread backtrace all"
	if a.full {
		bt, lldb = "thread apply all bt full", ""
	} else {
		tools = append(tools, euStack(one("eu-stack", "eu-stack", "-n", "0", "--core="+core, "-e", program)),
			euStack(one("eu-stack -i -v", "eu-stack", "-n", "0", "-i", "-v", "--core="+core, "-e", program)))
	}
	tools = append(tools, one("gdb", gdb(bt, program, core)...))
	if lldb != "" {
		tools = append(tools, one("lldb", "lldb-19", "--no-lldbinit", "--batch", "-o", lldb, "-c", core, program))
	}
	return tools
}

// ours returns corewalk with an empty cache, with one that it has filled, and without.
func (m *measurer) ours(line, want []string) []tool {
	t := tool{name: second, lines: [][]string{line}, want: [][]string{want}, prime: true, env: []string{"XDG_CACHE_HOME=" + filepath.Join(m.dir, "second")}}
	if !m.caches {
		return []tool{t}
	}
	empty, without := t, t
	empty.name, empty.cold = first, filepath.Join(m.dir, "first")
	empty.prime, empty.env = false, []string{"XDG_CACHE_HOME=" + empty.cold}
	without.name = noCache
	without.lines = [][]string{append([]string{line[0], "--no-cache"}, line[1:]...)}
	return []tool{empty, t, without}
}

// euStack: the status 1 means that some frames were shown; want says whether enough.
func euStack(t tool) tool {
	t.statuses = []int{1}
	return t
}

func gdb(what, program, core string) []string {
	return []string{"gdb", "-nx", "-q", "-batch", "-iex", "set debuginfod enabled off", "-ex", what, program, core}
}

// delve prints the stack of the goroutine that died.
func (m *measurer) delve(dir, program string, a asked) tool {
	script := filepath.Join(m.dir, "delve")
	os.WriteFile(script, []byte("bt 100\nexit\n"), 0o644) // without it dlv fails, and that is noticed
	return tool{name: "dlv", lines: [][]string{{"dlv", "core", filepath.Join(m.builder.dir, dir, program), filepath.Join(m.builder.dir, dir, "core"),
		"--check-go-version=false", "--allow-non-terminal-interactive=true", "--init", script}}, want: [][]string{a.want}}
}

// batch returns the tools for many cores: corewalk takes all of them at once, the peers run once for each.
func (m *measurer) batch(dir string, n int) []tool {
	dir = filepath.Join(m.builder.dir, dir)
	tools := []tool{{
		name: second, prime: m.caches, env: []string{"XDG_CACHE_HOME=" + filepath.Join(m.dir, "second")}, lines: [][]string{{m.corewalk, "triage", "--no-db", "--search", dir, filepath.Join(dir, "cores")}},
		want: [][]string{{fmt.Sprintf("analysed %d dumps", n), fmt.Sprintf("reply%d w6.c", n-1)}}, // the sandbox lets the programs be read
	}}
	peers := []tool{euStack(tool{name: "eu-stack"}), euStack(tool{name: "eu-stack -i -v"}), {name: "gdb"}}
	for i := range n {
		program, core := filepath.Join(dir, fmt.Sprintf("w6_%d", i)), filepath.Join(dir, "cores", fmt.Sprintf("core.%d", i))
		for j, line := range [][]string{
			{"eu-stack", "-n", "0", "--core=" + core, "-e", program},
			{"eu-stack", "-n", "0", "-i", "-v", "--core=" + core, "-e", program},
			gdb("bt", program, core),
		} {
			peers[j].lines = append(peers[j].lines, line)
			peers[j].want = append(peers[j].want, []string{fmt.Sprintf("serve%d", i), "main"})
		}
	}
	return append(tools, peers...)
}
