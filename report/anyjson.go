package report

import (
	"encoding/json"
	"reflect"
)

// JSON returns v as encoding/json does, indented by indent for each level, on one line if that is "", but safe to show on
// terminals and in pages: what WriteJSON escapes is escaped, and so are <, > and &. Bytes that are not UTF-8 become the
// text that Clean makes of them. The document means the same.
func JSON(v any, indent string) (b []byte, err error) {
	if v != nil {
		v = valid(reflect.ValueOf(v)).Interface()
	}
	if indent == "" {
		b, err = json.Marshal(v)
	} else {
		b, err = json.MarshalIndent(v, "", indent)
	}
	return EscapeJSON(b), err
}

// valid returns a copy of v whose strings are UTF-8. encoding/json would replace what is not by U+FFFD.
func valid(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		out := reflect.New(v.Type()).Elem()
		out.SetString(UTF8(v.String()))
		return out
	case reflect.Struct:
		out := reflect.New(v.Type()).Elem()
		out.Set(v)
		for i := range v.NumField() {
			if out.Field(i).CanSet() {
				out.Field(i).Set(valid(v.Field(i)))
			}
		}
		return out
	case reflect.Slice:
		if v.Len() == 0 || v.Type().Elem().Kind() == reflect.Uint8 {
			return v
		}
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(valid(v.Index(i)))
		}
		return out
	case reflect.Array:
		out := reflect.New(v.Type()).Elem()
		for i := range v.Len() {
			out.Index(i).Set(valid(v.Index(i)))
		}
		return out
	case reflect.Map:
		if v.IsNil() {
			return v
		}
		out := reflect.MakeMapWithSize(v.Type(), v.Len())
		for _, k := range v.MapKeys() {
			out.SetMapIndex(valid(k), valid(v.MapIndex(k)))
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type().Elem())
		out.Elem().Set(valid(v.Elem()))
		return out
	case reflect.Interface:
		if v.IsNil() {
			return v
		}
		out := reflect.New(v.Type()).Elem()
		out.Set(valid(v.Elem()))
		return out
	}
	return v
}
