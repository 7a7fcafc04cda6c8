// Command w5 is a large Go program with 1,000 goroutines that wait in several places, and
// one that panics below a sort.
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"encoding/gob"
	"encoding/json"
	"encoding/xml"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"html/template"
	"image/jpeg"
	"image/png"
	"io"
	"log/slog"
	"math/big"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httputil"
	"net/rpc"
	"net/smtp"
	"os"
	"regexp"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"archive/tar"
	"archive/zip"
	"compress/bzip2"
	"compress/flate"
	"debug/dwarf"
	"debug/elf"
	"debug/macho"
	"debug/pe"
	"encoding/asn1"
	"encoding/csv"
	"go/doc"
	"go/format"
	"runtime/debug"
	"runtime/pprof"
	"runtime/trace"
	"testing"
	"text/tabwriter"
)

// kept keeps packages in the program: the linker cannot tell that nothing is called through it.
var kept = []any{
	tar.NewReader, zip.NewReader, bzip2.NewReader, flate.NewWriter, dwarf.New, elf.NewFile, macho.NewFile, pe.NewFile,
	asn1.Marshal, csv.NewReader, doc.NewFromFiles, format.Source, pprof.StartCPUProfile, trace.Start, testing.Benchmark,
	tabwriter.NewWriter, sql.Open, gob.NewDecoder, xml.Unmarshal, jpeg.Encode, png.Encode, multipart.NewReader,
	httputil.NewSingleHostReverseProxy, rpc.NewServer, smtp.SendMail, tls.Dial, x509.ParseCertificate, template.New,
	ecdsa.GenerateKey, elliptic.P256, rand.Reader, big.NewInt, http.ListenAndServe, importer.Default, regexp.MustCompile,
}

// An order is one of those that are sorted.
type order struct {
	id     int
	weight *int
	tags   map[string]string
}

type queue struct {
	mu      sync.Mutex
	ready   *sync.Cond
	waiting atomic.Int64
	items   []order
}

func (q *queue) take(id int) order {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Add(1)
	for len(q.items) <= id {
		q.ready.Wait()
	}
	return q.items[id]
}

func (q *queue) sleep(d time.Duration) {
	q.waiting.Add(1)
	time.Sleep(d)
}

func (q *queue) choose(ctx context.Context, c <-chan order) (order, bool) {
	q.waiting.Add(1)
	select {
	case o := <-c:
		return o, true
	case <-ctx.Done():
		return order{}, false
	}
}

func (q *queue) accept(l net.Listener) {
	q.waiting.Add(1)
	if c, err := l.Accept(); err == nil {
		c.Close()
	}
}

func worker(ctx context.Context, q *queue, id int, c chan order, l net.Listener) {
	switch id % 4 {
	case 0:
		q.take(id)
	case 1:
		q.sleep(time.Hour)
	case 2:
		q.choose(ctx, c)
	default:
		if id == 3 {
			q.accept(l)
			return
		}
		q.waiting.Add(1)
		<-c
	}
}

// check type-checks a source text, so that go/types is on the path to the end, too.
func check(text string, after func(*ast.File, *types.Package) error) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "in.go", text, 0)
	if err != nil {
		return err
	}
	conf := types.Config{Importer: nil}
	pkg, err := conf.Check("in", fset, []*ast.File{f}, nil)
	if err != nil {
		return err
	}
	return after(f, pkg)
}

func settle(orders []order, log *slog.Logger) {
	log.Info("settling", "orders", len(orders))
	sort.Slice(orders, func(i, j int) bool { return *orders[i].weight < *orders[j].weight })
}

func main() {
	debug.SetTraceback("crash")
	ctx := context.Background()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		os.Exit(2)
	}
	q := &queue{}
	q.ready = sync.NewCond(&q.mu)
	c := make(chan order)
	for id := range 1000 {
		go worker(ctx, q, id, c, l)
	}
	for q.waiting.Load() < 1000 {
		time.Sleep(time.Millisecond)
	}
	one := 1
	orders := []order{{id: 1, weight: &one, tags: map[string]string{"kind": "small"}}, {id: 2, tags: map[string]string{"kind": "large"}}, {id: 3, weight: &one}}
	err = check("package in; type T struct { a int }; func (t T) M() int { return t.a }", func(f *ast.File, pkg *types.Package) error {
		data, err := json.Marshal(pkg.Scope().Names())
		if err == nil {
			settle(orders, slog.New(slog.NewTextHandler(io.Discard, nil)))
		}
		_ = strings.Repeat(string(data), len(kept))
		return err
	})
	if err != nil {
		os.Exit(3)
	}
}
