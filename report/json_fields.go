package report

import (
	"reflect"
	"strconv"
	"strings"
	"time"
)

// fields writes the fields of a struct by their JSON tags, as encoding/json does. It is for structs that occur
// rarely: reflection takes several times as long as handwritten code. On outer levels lists have one element a
// line; with row, all of it stays on one line.
func (j *jsonWriter) fields(v reflect.Value, row bool) {
	j.open('{', row)
	t := v.Type()
	for i := range t.NumField() {
		key, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		f := v.Field(i)
		if option != "" && (f.IsZero() || f.Kind() == reflect.Slice && f.Len() == 0) {
			continue
		}
		if t, ok := f.Interface().(time.Time); ok && (t.Year() < 0 || t.Year() > 9999) {
			continue // RFC 3339 cannot express it
		}
		j.key(key)
		j.value(f, f.Kind() == reflect.Struct || f.Kind() == reflect.Pointer)
	}
	j.close('}')
}

// value writes a value of one of the types that reports consist of.
func (j *jsonWriter) value(v reflect.Value, row bool) {
	switch x := v.Interface().(type) {
	case Addr:
		j.buf = append(x.append(append(j.buf, '"')), '"')
		return
	case time.Time:
		j.buf = append(x.AppendFormat(append(j.buf, '"'), time.RFC3339Nano), '"')
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		j.fields(v, row)
	case reflect.Pointer:
		j.value(v.Elem(), row)
	case reflect.Slice:
		j.open('[', row)
		for i := range v.Len() {
			j.next()
			j.value(v.Index(i), true)
		}
		j.close(']')
	case reflect.String:
		j.buf = appendJSONString(j.buf, v.String())
	case reflect.Bool:
		j.buf = strconv.AppendBool(j.buf, v.Bool())
	case reflect.Int:
		j.buf = strconv.AppendInt(j.buf, v.Int(), 10)
	case reflect.Float64:
		j.buf = strconv.AppendFloat(j.buf, v.Float(), 'f', -1, 64)
	case reflect.Uint64:
		j.buf = strconv.AppendUint(j.buf, v.Uint(), 10)
	}
}
