package service

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/corewalk/corewalk/internal/service/store/sqlite"
)

// TestConnections: of more connections than there may be, those that are too many are answered so; when one ends, there is room for another.
func TestConnections(t *testing.T) {
	if n := connections(); n < 16 || n > mostConnections {
		t.Errorf("%d connections", n)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := atMost(2, inner)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.Copy(w, strings.NewReader("served"))
	})}
	go server.Serve(l)
	defer server.Close()
	slow := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err == nil {
			_, err = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nx")
		}
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ask := func() (int, string) {
		t.Helper()
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		a, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			return 0, err.Error() // the answer may be gone with the connection
		}
		b, err := io.ReadAll(a.Body)
		if err != nil {
			t.Error(err)
		}
		return a.StatusCode, string(b)
	}
	until := func(want string) {
		t.Helper()
		last := ""
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			status, text := ask()
			if last = text; status != 0 && strings.Contains(text, want) && (status == 503) == (want != "served") {
				return
			}
		}
		t.Fatalf("never %q, but %q", want, last)
	}
	until("served")
	first, second := slow(), slow()
	defer second.Close()
	until("too many connections")
	first.Close()
	until("served")
}

// The end of an answer is seen at once, while the other side still sends: the connection is closed half.
func TestCappedHalf(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := atMost(1, inner)
	defer l.Close()
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	half, ok := here.(interface{ CloseWrite() error })
	if !ok {
		t.Fatal("net/http cannot close it half")
	}
	if err := half.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("%d %v", n, err)
	}
	if _, err := io.WriteString(c, "more"); err != nil {
		t.Error(err)
	}
	b := make([]byte, 4)
	if _, err := io.ReadFull(here, b); err != nil || string(b) != "more" {
		t.Errorf("%q %v", b, err)
	}
}

// TestRest: a body that nobody wants, of which a byte comes now and then, keeps no connection.
func TestRest(t *testing.T) {
	t.Parallel()
	s := &Service{mux: http.NewServeMux(), c: Config{Log: slog.New(slog.NewTextHandler(t.Output(), nil))}}
	s.mux.HandleFunc("POST /denied", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no access", http.StatusForbidden) })
	s.mux.HandleFunc("POST /silent", func(http.ResponseWriter, *http.Request) {})
	s.mux.HandleFunc("POST /some", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadFull(r.Body, make([]byte, 2))
		_, _ = io.WriteString(w, "enough")
	})
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	for _, path := range []string{"/denied", "/silent", "/some", "/none"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			c, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if _, err := io.WriteString(c, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\nx"); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			go func() {
				for time.Since(begun) < 30*time.Second {
					if _, err := io.WriteString(c, "y"); err != nil {
						return
					}
					time.Sleep(100 * time.Millisecond)
				}
			}()
			_ = c.SetReadDeadline(begun.Add(20 * time.Second))
			b, err := io.ReadAll(c)
			if took := time.Since(begun); took > 15*time.Second || !strings.HasPrefix(string(b), "HTTP/1.1 ") {
				t.Errorf("%q after %v: %v", b, took, err)
			}
		})
	}
}

// A body that comes too slowly is the client's fault, and the answer says nothing of this machine.
func TestSlowBodyError(t *testing.T) {
	err := bodyError(fmt.Errorf("the form cannot be read: %w", &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3)}, Err: os.ErrDeadlineExceeded}))
	if known := (httpError{}); !errors.As(err, &known) || known.status != http.StatusRequestTimeout || strings.Contains(err.Error(), "10.1.2.3") {
		t.Errorf("%v", err)
	}
}

// A service counts its connections.
func TestServeCounts(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "service.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	s, err := New(Config{Store: db, Closed: true, Connections: 1, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l, "", "") }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	first, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := io.WriteString(first, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if a, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil || a.StatusCode != http.StatusOK {
		t.Fatalf("%v, %v", a, err)
	}
	second, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	_ = second.SetDeadline(time.Now().Add(10 * time.Second))
	if a, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || a.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%v, %v", a, err)
	}
}
