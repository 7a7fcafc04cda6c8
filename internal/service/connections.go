package service

import (
	"io"
	"net"
	"sync"
	"time"
)

// Connections at a time. Each takes some 40 kB of memory while it sends, and two files: who opens thousands and sends a byte now and then has the others
// answered that the service is busy, but not the service's memory and files.
const (
	mostConnections   = 4096
	filesOfConnection = 3 // so that there are some left
)

// busy is the answer to a connection too many.
const busy = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: 34\r\n\r\n" + `{"error":"too many connections"}` + "\r\n"

// A capped accepts so many connections at a time.
type capped struct {
	net.Listener
	open chan struct{} // has room for them
}

func atMost(n int, l net.Listener) *capped { return &capped{l, make(chan struct{}, n)} }

func (l *capped) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &cappedConn{Conn: c, close: sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = c.SetDeadline(time.Now().Add(time.Second))
			_, _ = io.WriteString(c, busy)
			c.Close()
		}
	}
}

type cappedConn struct {
	net.Conn
	close func()
}

func (c *cappedConn) Close() error {
	c.close()
	return c.Conn.Close()
}

// CloseWrite tells the other side that the answer is over while what it still sends is taken: what it has not read would be lost otherwise.
func (c *cappedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// ReadFrom implements io.ReaderFrom: the kernel sends files by itself.
func (c *cappedConn) ReadFrom(r io.Reader) (int64, error) {
	if to, ok := c.Conn.(io.ReaderFrom); ok {
		return to.ReadFrom(r)
	}
	return io.Copy(struct{ io.Writer }{c.Conn}, r)
}
