package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// A stub is qemu's end of gdb's remote protocol.
type stub struct {
	conn net.Conn
	r    *bufio.Reader
	size int    // of a register, in bytes
	half [2]int // from which register on, and up to which, they have half that size
	all  string // what "g" answered
}

func newStub(conn net.Conn) *stub { return &stub{conn: conn, r: bufio.NewReader(conn), size: 8} }

// ask sends a packet and answers the reply's text.
func (s *stub) ask(packet string) (string, error) {
	sum := byte(0)
	for i := range len(packet) {
		sum += packet[i]
	}
	if _, err := fmt.Fprintf(s.conn, "$%s#%02x", packet, sum); err != nil {
		return "", err
	}
	if _, err := s.r.ReadString('$'); err != nil {
		return "", err
	}
	reply, err := s.r.ReadString('#')
	if err != nil {
		return "", err
	}
	if _, err := io.ReadFull(s.r, make([]byte, 2)); err != nil { // the checksum
		return "", err
	}
	_, err = s.conn.Write([]byte("+"))
	return strings.TrimSuffix(reply, "#"), err
}

// runToSignal lets the program run until the nth signal reaches it, and answers
// that signal. Those before it are the program's to handle.
func (s *stub) runToSignal(n int) (int, error) {
	if _, err := s.ask("qSupported:xmlRegisters=i386"); err != nil {
		return 0, err
	}
	// Asking for the description makes qemu answer for the registers in it.
	for _, file := range []string{"target.xml", "riscv-64bit-fpu.xml", "loongarch-fpu.xml"} {
		if _, err := s.ask("qXfer:features:read:" + file + ":0,ffb"); err != nil {
			return 0, err
		}
	}
	packet := "c"
	for {
		reply, err := s.ask(packet)
		if err != nil {
			return 0, err
		}
		if len(reply) < 3 || reply[0] != 'T' && reply[0] != 'S' {
			return 0, fmt.Errorf("the program ended: %s", reply)
		}
		if n--; n == 0 {
			signal, err := strconv.ParseInt(reply[1:3], 16, 32)
			return int(signal), err
		}
		packet = "C" + reply[1:3]
	}
}

// register reads one register.
func (s *stub) register(n int) ([]byte, error) {
	reply, err := s.ask("p" + strconv.FormatInt(int64(n), 16))
	if err != nil {
		return nil, err
	}
	if reply == "" { // architectures without a description answer for all at a time only
		if s.all == "" {
			if s.all, err = s.ask("g"); err != nil {
				return nil, err
			}
		}
		if at := 2 * s.offset(n); at+2*s.size <= len(s.all) {
			reply = s.all[at : at+2*s.size]
		}
	}
	b, err := hex.DecodeString(reply)
	if err != nil || len(b) != s.size {
		return nil, fmt.Errorf("register %d: %q", n, reply)
	}
	return b, nil
}

// offset is where register n lies among all, in bytes.
func (s *stub) offset(n int) int {
	halves := min(max(n-s.half[0], 0), s.half[1]-s.half[0])
	return n*s.size - halves*s.size/2
}

// registers reads registers in the order given; -1 is a zero.
func (s *stub) registers(numbers []int) ([]byte, error) {
	var block []byte
	for _, n := range numbers {
		b := make([]byte, s.size)
		if n >= 0 {
			var err error
			if b, err = s.register(n); err != nil {
				return nil, err
			}
		}
		block = append(block, b...)
	}
	return block, nil
}

func (s *stub) auxv() ([]byte, error) {
	reply, err := s.ask("qXfer:auxv:read::0,ffb")
	if err != nil || len(reply) < 1 || reply[0] != 'l' {
		return nil, fmt.Errorf("no auxiliary vector: %v", err)
	}
	return unescape(reply[1:]), nil
}

// unescape undoes the protocol's escapes in binary data.
func unescape(text string) []byte {
	var out []byte
	for i := 0; i < len(text); i++ {
		if text[i] == '}' && i+1 < len(text) {
			i++
			out = append(out, text[i]^0x20)
			continue
		}
		out = append(out, text[i])
	}
	return out
}

// memory reads a page; false where it cannot be read.
func (s *stub) memory(addr uint64) ([]byte, bool) {
	var page []byte
	for off := uint64(0); off < pageSize; off += 1024 {
		reply, err := s.ask(fmt.Sprintf("m%x,400", addr+off))
		if err != nil {
			return nil, false
		}
		b, err := hex.DecodeString(reply)
		if err != nil || len(b) != 1024 {
			return nil, false
		}
		page = append(page, b...)
	}
	return page, true
}
