package report

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

func (s *stackwalk) module(m *Module) {
	s.open('{', true)
	s.hex("base_addr", m.Base)
	if m.Listed != nil {
		s.hex("end_addr", m.Base+Addr(m.Listed.Size))
	} else {
		s.hex("end_addr", m.End)
	}
	debug := base(m.DebugName)
	if debug == "" && (m.BuildID != "" || m.DebugID != "") {
		debug = m.listName() // the file has its debug information, or names where it is
	}
	s.str("debug_file", debug)
	s.str("debug_id", m.breakpadID())
	s.str("filename", m.listName())
	s.str("code_id", m.codeID())
	s.strOrNull("version", m.Version)
	s.null("cert_subject")
	loaded := m.Symbols != SymbolsNone && m.Symbols != ""
	s.bool("missing_symbols", !loaded && s.used[m]) // nobody looked for those of other modules
	s.bool("loaded_symbols", loaded)
	s.bool("corrupt_symbols", false)
	s.null("symbol_url")
	s.close('}')
}

// listName returns the name of the module in the dump's list, without directories.
func (m *Module) listName() string {
	if m.Listed != nil && m.Listed.Name != "" {
		return base(m.Listed.Name)
	}
	return base(m.Path)
}

// codeID returns the identifier of the module's file, in lower case.
func (m *Module) codeID() string {
	if m.BuildID != "" {
		return strings.ToLower(UTF8(m.BuildID))
	}
	return strings.ToLower(UTF8(m.CodeID))
}

// breakpadID returns the module's debug identifier in Breakpad's form. For ELF files this is the first 16 bytes
// of the build-id as a GUID, and age 0. All zeros means none.
func (m *Module) breakpadID() string {
	if m.BuildID == "" && m.DebugID != "" {
		return m.DebugID
	}
	var id [16]byte
	if b, err := hex.DecodeString(m.BuildID); err == nil {
		copy(id[:], b)
	}
	return fmt.Sprintf("%08X%04X%04X%X0", binary.LittleEndian.Uint32(id[:]), binary.LittleEndian.Uint16(id[4:]), binary.LittleEndian.Uint16(id[6:]), id[8:])
}

func (s *stackwalk) unloadedModule(u *UnloadedModule) {
	s.open('{', true)
	s.hex("base_addr", u.Base)
	s.hex("end_addr", u.End)
	s.str("code_id", strings.ToLower(UTF8(u.CodeID)))
	s.str("filename", base(u.Path))
	s.null("cert_subject")
	s.close('}')
}

func (s *stackwalk) handles() {
	if len(s.d.Handles) == 0 {
		s.null("handles")
		return
	}
	array(&s.jsonWriter, "handles", s.d.Handles, func(_ *jsonWriter, h *Handle) {
		s.open('{', true)
		s.size("handle", uint64(h.Value))
		s.strOrNull("type_name", h.Type)
		s.strOrNull("object_name", h.Object)
		s.close('}')
	})
}

func (s *stackwalk) lsbRelease() {
	r := s.d.System.Distribution
	if r == nil {
		s.null("lsb_release")
		return
	}
	s.key("lsb_release")
	s.open('{', true)
	s.str("id", r.ID)
	s.str("release", r.Release)
	s.str("codename", r.Codename)
	s.str("description", r.Description)
	s.close('}')
}

func (s *stackwalk) macCrashInfo() {
	if len(s.d.MacCrashes) == 0 {
		s.null("mac_crash_info")
		return
	}
	s.key("mac_crash_info")
	s.open('{', false)
	s.num("num_records", len(s.d.MacCrashes))
	array(&s.jsonWriter, "records", s.d.MacCrashes, func(_ *jsonWriter, c *MacCrash) {
		s.open('{', true)
		for _, n := range []struct {
			key   string
			value Addr
		}{{"thread", c.Thread}, {"dialog_mode", c.DialogMode}, {"abort_cause", c.AbortCause}} {
			if n.value == 0 {
				s.null(n.key)
			} else {
				s.hex(n.key, n.value)
			}
		}
		s.strOrNull("module", c.Module)
		s.strOrNull("message", c.Message)
		s.strOrNull("signature_string", c.Signature)
		s.strOrNull("backtrace", c.Backtrace)
		s.strOrNull("message2", c.Message2)
		s.close('}')
	})
	s.close('}')
}

func (s *stackwalk) procLimits() {
	if len(s.d.Limits) == 0 {
		s.null("proc_limits")
		return
	}
	s.key("proc_limits")
	s.open('{', false)
	array(&s.jsonWriter, "limits", s.d.Limits, func(_ *jsonWriter, l *Limit) {
		s.open('{', true)
		s.str("name", l.Name)
		s.limit("soft", l.Soft)
		s.limit("hard", l.Hard)
		unit := l.Unit
		if unit == "" {
			unit = "n/a"
		}
		s.str("unit", unit)
		s.close('}')
	})
	s.close('}')
}

// limit writes a number, or "unlimited".
func (s *stackwalk) limit(k, v string) {
	if n, err := strconv.ParseUint(v, 10, 64); err == nil {
		s.size(k, n)
	} else {
		s.str(k, v)
	}
}

// softErrors copies the JSON of the dump writer's errors, whatever its shape.
func (s *stackwalk) softErrors() {
	dec := json.NewDecoder(strings.NewReader(s.d.SoftErrors))
	dec.UseNumber()
	var v any
	if s.d.SoftErrors == "" || dec.Decode(&v) != nil {
		s.null("soft_errors")
		return
	}
	s.key("soft_errors")
	s.any(v)
}

// any writes a value that encoding/json decoded.
func (s *stackwalk) any(v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		s.open('{', true)
		for _, k := range keys {
			s.next()
			s.buf = append(appendJSONString(s.buf, k), ": "...)
			s.any(v[k])
		}
		s.close('}')
	case []any:
		s.open('[', true)
		for _, e := range v {
			s.next()
			s.any(e)
		}
		s.close(']')
	case string:
		s.buf = appendJSONString(s.buf, v)
	case json.Number:
		s.buf = append(s.buf, v...)
	default: // true, false, nil
		b, _ := json.Marshal(v)
		s.buf = append(s.buf, bytes.TrimSpace(b)...)
	}
}

// crashpadInfo writes the annotations: first the program's, then those of each module.
func (s *stackwalk) crashpadInfo() {
	c := s.d.Crashpad
	if c == nil {
		s.null("crashpad_info")
		return
	}
	s.key("crashpad_info")
	s.open('{', false)
	s.num("version", c.Version)
	s.strOrNull("report_id", c.ReportID)
	s.strOrNull("client_id", c.ClientID)
	all := s.d.Annotations
	n := 0
	for n < len(all) && all[n].ModuleIndex == nil {
		n++
	}
	s.annotations("simple_annotations", AnnotationSimple, all[:n])
	s.key("module_list")
	s.open('[', false)
	for all = all[n:]; len(all) > 0; all = all[n:] {
		n = 1
		for n < len(all) && sameModule(&all[0], &all[n]) {
			n++
		}
		s.next()
		s.open('{', true)
		s.intOrNull("module_index", all[0].ModuleIndex)
		s.strOrNull("module", base(all[0].Module))
		var list []string
		for _, a := range all[:n] {
			if a.Kind == AnnotationList {
				list = append(list, a.Value)
			}
		}
		s.strings("list_annotations", list, true)
		s.annotations("simple_annotations", AnnotationSimple, all[:n])
		s.annotations("annotation_objects", AnnotationObject, all[:n])
		s.close('}')
	}
	s.close(']')
	s.close('}')
}

func sameModule(a, b *Annotation) bool {
	return a.ModuleIndex != nil && b.ModuleIndex != nil && *a.ModuleIndex == *b.ModuleIndex
}

// annotations writes the annotations of one kind as an object. If a key repeats, the last value wins, as in
// minidump-stackwalk's maps.
func (s *stackwalk) annotations(key, kind string, list []Annotation) {
	last := map[string]int{}
	for i := range list {
		if list[i].Kind == kind {
			last[list[i].Key] = i
		}
	}
	s.key(key)
	s.open('{', true)
	for i := range list {
		if a := &list[i]; a.Kind == kind && last[a.Key] == i {
			s.next()
			s.buf = append(appendJSONString(s.buf, a.Key), ": "...)
			s.buf = appendJSONString(s.buf, a.Value)
		}
	}
	s.close('}')
}
