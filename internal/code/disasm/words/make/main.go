// Command make makes the tables of the words of POWER's and z/Architecture's instructions. Masks, values, names and
// fields of operands are read from the tables of golang.org/x/arch; what those packages write for an instruction is
// compared with what a line of ours would give, so that instructions which go by several names get a line for each.
//
//	go run ./internal/code/disasm/words/make
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

const room = "internal/code/disasm/words"

func main() {
	log.SetFlags(0)
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", "golang.org/x/arch").Output()
	if err != nil {
		log.Fatal(err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	for _, t := range []struct {
		from, to string
		lines    func([]format) []line
	}{
		{"ppc64/ppc64asm", "ppc64.txt", ppcLines},
		{"s390x/s390xasm", "s390x.txt", s390Lines},
	} {
		formats, err := readFormats(filepath.Join(dir, t.from, "tables.go"))
		if err != nil {
			log.Fatal(err)
		}
		var b bytes.Buffer
		fmt.Fprintf(&b, "# By go run ./%s/make, from golang.org/x/arch/%s %s.\n", room, t.from, version)
		for _, l := range t.lines(formats) {
			fmt.Fprintf(&b, "%016x %016x %s\n", l.mask, l.value, l.text)
		}
		if err := os.WriteFile(filepath.Join(room, t.to), b.Bytes(), 0o666); err != nil {
			log.Fatal(err)
		}
	}
}

// A line of a table.
type line struct {
	mask, value uint64
	text        string
}

// A format is one line of a table of x/arch.
type format struct {
	name              string
	mask, value, zero uint64
	fields            []field
}

// A field is an operand of a format.
type field struct {
	kind  string
	shift int
	bits  [][2]int // the first bit of 64, and how many
}

// String returns the bits as a line of ours has them.
func (f *field) String() string {
	var parts []string
	for _, b := range f.bits {
		parts = append(parts, fmt.Sprintf("%d.%d", b[0], b[1]))
	}
	s := strings.Join(parts, "+")
	if f.shift > 0 {
		s += "<" + strconv.Itoa(f.shift)
	}
	return s
}

// places returns the bits of an instruction that the field is made of, the lowest first.
func (f *field) places() (list []int) {
	for i := len(f.bits) - 1; i >= 0; i-- {
		for n := f.bits[i][1] - 1; n >= 0; n-- {
			list = append(list, 63-(f.bits[i][0]+n))
		}
	}
	return list
}

// readFormats reads the variables instFormats, ap_* and opstr of a file.
func readFormats(path string) ([]format, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		return nil, err
	}
	names, fields := map[string]string{}, map[string]field{}
	var table *ast.CompositeLit
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		switch name := spec.Names[0].Name; {
		case name == "instFormats":
			table = spec.Values[0].(*ast.CompositeLit)
		case name == "opstr":
			for _, e := range spec.Values[0].(*ast.CompositeLit).Elts {
				kv := e.(*ast.KeyValueExpr)
				names[kv.Key.(*ast.Ident).Name], _ = strconv.Unquote(kv.Value.(*ast.BasicLit).Value)
			}
		case strings.HasPrefix(name, "ap_"):
			fields[name] = readField(spec.Values[0].(*ast.UnaryExpr).X.(*ast.CompositeLit))
		}
		return false
	})
	if table == nil || len(names) == 0 || len(fields) == 0 {
		return nil, fmt.Errorf("%s: no table", path)
	}
	var formats []format
	for _, e := range table.Elts {
		elts := e.(*ast.CompositeLit).Elts
		f := format{name: names[elts[0].(*ast.Ident).Name], mask: number(elts[1]), value: number(elts[2]), zero: number(elts[3])}
		for _, a := range elts[4].(*ast.CompositeLit).Elts {
			f.fields = append(f.fields, fields[a.(*ast.Ident).Name])
		}
		formats = append(formats, f)
	}
	return formats, nil
}

func readField(lit *ast.CompositeLit) (f field) {
	for _, e := range lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		switch kv.Key.(*ast.Ident).Name {
		case "Type":
			f.kind = strings.TrimPrefix(kv.Value.(*ast.Ident).Name, "Type")
		case "Shift":
			f.shift = int(number(kv.Value))
		case "BitField":
			f.addBits(kv.Value)
		case "BitFields":
			for _, b := range kv.Value.(*ast.CompositeLit).Elts {
				f.addBits(b)
			}
		}
	}
	return f
}

func (f *field) addBits(e ast.Expr) {
	elts := e.(*ast.CompositeLit).Elts
	at, n := int(number(elts[0])), int(number(elts[1]))
	if len(elts) > 2 {
		at += 32 * int(number(elts[2]))
	}
	f.bits = append(f.bits, [2]int{at, n})
}

func number(e ast.Expr) uint64 {
	n, err := strconv.ParseUint(e.(*ast.BasicLit).Value, 0, 64)
	if err != nil {
		log.Fatal(err)
	}
	return n
}
