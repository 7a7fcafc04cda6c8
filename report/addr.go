package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrAddr is wrapped by the error for a string that does not hold an address.
var ErrAddr = errors.New(`not an address like "0x1f"`)

// An Addr is an address in the process, or an offset from a module's base. JSON has it as a string of
// hexadecimal digits, "0x7f00": some JSON readers lose precision above 2^53.
type Addr uint64

// String returns a in hexadecimal, with the prefix 0x and without leading zeros.
func (a Addr) String() string { return string(a.append(nil)) }

func (a Addr) append(b []byte) []byte {
	return strconv.AppendUint(append(b, "0x"...), uint64(a), 16)
}

// MarshalJSON writes a as a JSON string.
func (a Addr) MarshalJSON() ([]byte, error) {
	return append(a.append([]byte{'"'}), '"'), nil
}

// UnmarshalJSON reads what MarshalJSON writes. Its errors are those of encoding/json or wrap ErrAddr.
func (a *Addr) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s: %w", data, ErrAddr)
	}
	v, err := parseAddr(s)
	if err == nil {
		*a = v
	}
	return err
}

func parseAddr(s string) (Addr, error) {
	digits, ok := strings.CutPrefix(s, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil {
		return 0, fmt.Errorf("%q: %w", s, ErrAddr)
	}
	return Addr(v), nil
}

// A Location says where a frame's return address was found: in memory at Address, or in Register when that is
// not empty. The zero Location means that the place is not known. JSON has it as one string, "0x7ffc10" or
// "x30".
type Location struct {
	Address  Addr
	Register string
}

// IsZero reports whether nothing is known.
func (l Location) IsZero() bool { return l == Location{} }

// String returns the register's name or the address, "" when neither is known.
func (l Location) String() string {
	switch {
	case l.Register != "":
		return l.Register
	case l.Address != 0:
		return l.Address.String()
	}
	return ""
}

// MarshalJSON writes l as a JSON string.
func (l Location) MarshalJSON() ([]byte, error) { return json.Marshal(l.String()) }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Location) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("location: %w", err)
	}
	if a, err := parseAddr(s); err == nil {
		*l = Location{Address: a}
	} else {
		*l = Location{Register: s}
	}
	return nil
}

// A Register is a register's name in lower case and its value.
type Register struct {
	Name  string
	Value Addr
}

// Registers is a list of registers in the architecture's order. JSON has it as one object from name to value,
// in the same order.
type Registers []Register

// MarshalJSON writes rs as a JSON object.
func (rs Registers) MarshalJSON() ([]byte, error) {
	var j jsonWriter
	j.registers(rs)
	return j.buf, nil
}

// UnmarshalJSON reads an object and keeps its order.
func (rs *Registers) UnmarshalJSON(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	open, err := dec.Token()
	if err != nil {
		return fmt.Errorf("registers: %w", err)
	}
	*rs = nil
	if open == nil { // null
		return nil
	}
	if open != json.Delim('{') {
		return fmt.Errorf("registers: want an object, got %v", open)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return fmt.Errorf("registers: %w", err)
		}
		r := Register{Name: fmt.Sprint(name)}
		if err := dec.Decode(&r.Value); err != nil {
			return fmt.Errorf("register %s: %w", r.Name, err)
		}
		*rs = append(*rs, r)
	}
	return nil
}
