package everyday

import (
	"slices"
	"strings"
)

// A row is a command line. Words in capitals stand for something: CORE is the dump, PROGRAM where its program was, FILES flags that say where files are,
// OUT the directory that the command may write to, SELF the program under test, GROUP a group of the ledger, PID a process that waits, and DIES a
// program that dies.
type row struct {
	words  []string
	first  [][]string // what is run before, in the same way, and must succeed
	stdin  string     // CORE is the dump
	status statuses
	silent bool // it prints nothing, so that it does not matter who reads that
	ledger bool // it writes a database, whose bytes may differ from run to run
	alone  bool // what it says depends on what others do to the cache at the same time
	varies bool // it is about something that is not the same the next time: a process that runs, a secret
}

// statuses are those that docs/reference/statuses.md and the usage text of the command name for a subject in a setting.
type statuses func(s *subject, c *setting) []int

func always(list ...int) statuses { return func(*subject, *setting) []int { return list } }

// ofReport is the status of each report: the same gap gives the same status, whatever the format.
func ofReport(s *subject, _ *setting) []int { return []int{s.whole} }

// ofStdin is the status of a report of a core that comes without a path: what lies beside it is not found.
func ofStdin(s *subject, _ *setting) []int { return []int{s.alone} }

// ofSearch is the status of a report that looks for files where the subject has them, so that it may miss less.
func ofSearch(s *subject, _ *setting) []int { return []int{0, s.whole} }

// ofRegister is the status of a question for a register, of which a frame of Python has none. Without the interpreter's file there may be no such frame.
func ofRegister(s *subject, _ *setting) []int {
	if strings.HasPrefix(s.name, "python") {
		return []int{0, 1}
	}
	return []int{0}
}

// ofCache is the status of corewalk cache, which needs a directory to look at.
func ofCache(_ *subject, c *setting) []int {
	if c.homeless || c.occupied {
		return []int{1}
	}
	return []int{0}
}

// ofInfo is the status of info, which does not walk.
func ofInfo(s *subject, _ *setting) []int {
	switch {
	case s.gap:
		return []int{3}
	case s.cut:
		return []int{s.whole}
	}
	return []int{0}
}

// w splits a command line, in which a word with spaces is between apostrophes.
func w(line string) []string {
	var out []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			out = append(out, part)
		} else {
			out = append(out, strings.Fields(part)...)
		}
	}
	return out
}

// rows are what people ask.
var rows = slices.Concat(
	each(ofReport,
		"FILES CORE",
		"FILES --format json CORE",
		"FILES --format json-lines CORE",
		"FILES --format html CORE",
		"FILES --format minidump-stackwalk-json CORE",
		"FILES --brief CORE",
		"FILES --explain --max-frames 30 --verify CORE",
		"FILES --locals none --tasks none CORE",
		"FILES --locals all --no-inlines --no-fold --wide CORE",
		"FILES --registers --memory --disassemble --source 2 --color always CORE",
		"FILES --native --tasks all --env --paths full CORE",
		"FILES --sandbox=auto CORE",
		"FILES --deadline 9s --memory=2GiB CORE",
		"FILES --no-cache CORE",
		"FILES --cache-size 64KiB CORE",
		"report FILES --brief CORE",
		"report FILES --format json --locals all CORE",
	),
	[]row{
		{words: w("FILES -"), stdin: "CORE", status: ofStdin},
		{words: w("FILES --search SUBJECT --debug-dir SUBJECT CORE"), status: ofSearch},
		{words: w("memory FILES CORE"), status: always(0, 3)}, // 3: no heap that is known
		{words: w("memory FILES --format json CORE"), status: always(0, 3)},
		{words: w("memory FILES --sandbox=auto CORE"), status: always(0, 3)},
		{words: w("FILES OUT/small"), first: [][]string{w("slim FILES CORE -o OUT/small")}, status: always(0, 3)},
		{words: w("FILES OUT/all.cwz"), first: [][]string{w("pack FILES CORE -o OUT/all.cwz")}, status: always(0, 3)},
		{words: w("FILES OUT/m.dmp"), first: [][]string{w("convert FILES CORE -o OUT/m.dmp")}, status: always(0, 3)},
	},
	each(ofInfo,
		"info FILES CORE",
		"info FILES --format json CORE",
		"info FILES --missing CORE",
		"info FILES --memory --sandbox=auto CORE",
	),
	each(ofRegister, "print FILES CORE $pc", "print FILES --format json CORE $sp"),
	each(always(0),
		"shell FILES --execute bt --execute 'info threads' --execute 'x/4gx $sp' CORE",
		"triage FILES --no-db --format json CORE",
		"triage FILES --no-db --no-sandbox CORE",
		"triage FILES --no-db --explain-signature CORE",
		"schema report",
		"schema triage",
		"completion bash",
		"completion zsh",
		"completion fish",
		"man",
		"version",
		"help",
		"help serve",
		"--help",
		"--version",
		"triage --help",
	),
	each(ofCache, "cache", "cache --format json"),
	each(always(0, 1), // not everything is found in every frame of every program
		"print FILES CORE p",
		"shell FILES --execute 'frame 0' --execute disassemble --execute report CORE",
		"shell FILES --execute list --execute 'info locals' --execute 'p p' CORE",
	),
	[]row{
		{words: w("shell FILES CORE"), stdin: "bt\nup\ndown\ninfo registers\n", status: always(0, 1)},
		{words: w("shell FILES CORE"), status: always(0), silent: true},
		{words: w("slim FILES CORE -o OUT/small"), status: always(0, 3)},
		{words: w("slim FILES --redact --format json CORE -o OUT/small"), status: always(0, 3)},
		{words: w("convert FILES CORE --to minidump -o OUT/m.dmp"), status: always(0, 3)},
		{words: w("pack FILES CORE -o OUT/p.cwz"), status: always(0, 3)},
		{words: w("pack FILES --full CORE -o OUT/p.cwz"), status: always(0, 3)},
		{words: w("pack FILES --full --redact CORE -o OUT/p.cwz"), status: always(2), silent: true},
		{words: w("triage FILES --db OUT/l.db CORE"), status: always(0), ledger: true},
		{words: w("triage FILES --db OUT/l.db --format html -o OUT/page.html --fail-on new CORE"), status: always(4), ledger: true, silent: true},
		{words: w("triage list --db OUT/l.db"), first: ledger, status: always(0), ledger: true},
		{words: w("triage show --db OUT/l.db GROUP"), first: ledger, status: always(0), ledger: true},
		{words: w("triage diff --db OUT/l.db"), first: append(slices.Clip(ledger), ledger...), status: always(0), ledger: true},
		{words: w("triage export --db OUT/l.db"), first: ledger, status: always(0), ledger: true},
		{words: w("dap FILES"), status: always(0), silent: true},
		{words: w("dap FILES"), stdin: message(`{"seq":1,"type":"request","command":"initialize","arguments":{"adapterID":"x"}}`) +
			message(`{"seq":2,"type":"request","command":"launch","arguments":{"core":"CORE"}}`), status: always(0)},
		{words: w("mcp FILES SUBJECT"), status: always(0), silent: true},
		{words: w("mcp FILES SUBJECT"), stdin: `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}` + "\n", status: always(0)},
		{words: w("serve token list --dir OUT/s"), first: service, status: always(0), ledger: true, varies: true},
		{words: w("serve account list --dir OUT/s"), first: service, status: always(0), ledger: true, varies: true},
		{words: w("serve backup --dir OUT/s OUT/b"), first: service, status: always(0), ledger: true, varies: true},
		{words: w("serve restore --dir OUT/t OUT/b"), first: append(slices.Clip(service), w("serve backup --dir OUT/s OUT/b")), status: always(0), ledger: true, varies: true},
		{words: w("serve import --dir OUT/s --project default OUT"), first: append(slices.Clip(service), w("slim FILES CORE -o OUT/small.dmp")), status: always(0), ledger: true, varies: true},
		{words: w("serve import --dir OUT/s --project default nowhere"), first: service, status: always(1), ledger: true, silent: true},
		{words: w("serve --db nowhere"), status: always(2), silent: true},
		{words: w("handle --status"), status: always(0)},
		{words: w("handle"), status: always(2), silent: true},
		{words: w("cache --clear"), first: [][]string{w("FILES CORE")}, status: ofCache, alone: true},
		{words: w("live PID"), status: always(0, 3), varies: true},
		{words: w("live --format json PID"), status: always(0, 3), varies: true},
		{words: w("live --core OUT/core PID"), status: always(0, 3), varies: true},
		{words: w("live --every 20ms --for 200ms PID"), status: always(0, 3), varies: true},
		{words: w("live --parity PID"), status: always(0)},
		{words: w("live -- DIES"), status: always(0, 3), varies: true},
		{words: w("live -- true"), status: always(1), silent: true},
		{words: w("live 2000000000"), status: always(1), silent: true},
		{words: w("FILES nothing"), status: always(1), silent: true},
		{words: w("inof CORE"), status: always(2), silent: true},
		{words: w("--none CORE"), status: always(2), silent: true},
	},
)

var ledger = [][]string{w("triage FILES --db OUT/l.db CORE")}

// service makes a service that has nothing.
var service = [][]string{w("serve token add --dir OUT/s --project default --scope read")}

func each(status statuses, lines ...string) (out []row) {
	for _, line := range lines {
		out = append(out, row{words: w(line), status: status})
	}
	return out
}

// command is the name of the command that a row runs; "" for the report without a name.
func (r *row) command(names []string) string {
	two := strings.Join(r.words[:min(2, len(r.words))], " ")
	for _, name := range []string{two, r.words[0]} {
		if slices.Contains(names, name) {
			return name
		}
	}
	return ""
}

// kind is what a row is about: its command, as far as the words tell.
func (r *row) kind() string {
	var out []string
	for _, word := range r.words[:min(2, len(r.words))] {
		if word[0] < 'a' || word[0] > 'z' {
			break
		}
		out = append(out, word)
	}
	return strings.Join(out, " ")
}

// asks reports whether a word is in a row's command lines.
func (r *row) asks(word string) bool {
	for _, line := range append([][]string{r.words, {r.stdin}}, r.first...) {
		if strings.Contains(strings.Join(line, " "), word) {
			return true
		}
	}
	return false
}

// message is a message of the Debug Adapter Protocol.
func message(text string) string { return "Content-Length: LENGTH\r\n\r\n" + text }
