// Package pprof has what writers of pprof's format share: its messages (github.com/google/pprof, proto/profile.proto) and their encoding.
package pprof

// Field numbers of the messages.
const (
	ProfileSampleType        = 1
	ProfileSample            = 2
	ProfileMapping           = 3
	ProfileLocation          = 4
	ProfileFunction          = 5
	ProfileStringTable       = 6
	ProfileTimeNanos         = 9
	ProfileDuration          = 10
	ProfilePeriodType        = 11
	ProfilePeriod            = 12
	ProfileComment           = 13
	ProfileDefaultSampleType = 14

	SampleLocation = 1
	SampleValue    = 2
	SampleLabel    = 3
	LabelKey       = 1
	LabelStr       = 2

	MappingID           = 1
	MappingStart        = 2
	MappingLimit        = 3
	MappingOffset       = 4
	MappingFile         = 5
	MappingBuildID      = 6
	MappingHasFunctions = 7
	MappingHasFiles     = 8
	MappingHasLines     = 9
	MappingHasInlines   = 10

	LocationID      = 1
	LocationMapping = 2
	LocationAddress = 3
	LocationLine    = 4
	LineFunction    = 1
	LineLine        = 2

	FunctionID     = 1
	FunctionName   = 2
	FunctionSystem = 3
	FunctionFile   = 4

	valueType = 1
	valueUnit = 2
)

// A Message is a protocol buffers message being encoded.
type Message []byte

// Varint adds a number without a field: an element of packed ones.
func (m *Message) Varint(v uint64) {
	for v >= 0x80 {
		*m = append(*m, byte(v)|0x80)
		v >>= 7
	}
	*m = append(*m, byte(v))
}

// Int adds an integer field; zero is the default and is left out.
func (m *Message) Int(field int, v uint64) {
	if v != 0 {
		m.Varint(uint64(field) << 3)
		m.Varint(v)
	}
}

// Bytes adds a length-delimited field: bytes, a string, a message or packed integers.
func (m *Message) Bytes(field int, b []byte) {
	m.Varint(uint64(field)<<3 | 2)
	m.Varint(uint64(len(b)))
	*m = append(*m, b...)
}

// Message adds a message.
func (m *Message) Message(field int, sub Message) { m.Bytes(field, sub) }

// Strings are the strings of a profile. Its messages have their numbers.
type Strings struct {
	numbers map[string]uint64
	list    []string
}

// Number is the number of a string; that of the empty one is 0.
func (t *Strings) Number(s string) uint64 {
	if t.numbers == nil {
		t.numbers, t.list = map[string]uint64{"": 0}, []string{""}
	}
	i, ok := t.numbers[s]
	if !ok {
		i = uint64(len(t.list))
		t.numbers[s] = i
		t.list = append(t.list, s)
	}
	return i
}

// Value makes the message that says what samples count.
func (t *Strings) Value(typ, unit string) Message {
	var m Message
	m.Int(valueType, t.Number(typ))
	m.Int(valueUnit, t.Number(unit))
	return m
}

// Write adds all strings to a profile.
func (t *Strings) Write(m *Message) {
	t.Number("")
	for _, s := range t.list {
		m.Bytes(ProfileStringTable, []byte(s))
	}
}
