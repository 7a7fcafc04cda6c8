//go:build show

package main

import (
	"fmt"
	"reflect"
	"runtime"
	"strconv"
	"strings"
)

// What govars prints when it is built with -tags show: a line "function.name = value"
// for each variable, from its own values, as corewalk writes them; an address is 0x*.
const showing = true

// show prints variables of a function: name and address, in turn.
func show(function string, variables ...any) {
	for i := 0; i < len(variables); i += 2 {
		fmt.Printf("%s.%s = %s\n", function, variables[i], text(reflect.ValueOf(variables[i+1]).Elem()))
	}
}

func text(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Func:
		if v.IsNil() {
			return "nil"
		}
		return "0x* <" + runtime.FuncForPC(v.Pointer()).Name() + ">"
	case reflect.Pointer:
		if v.IsNil() {
			return "0x0"
		}
		return "0x*"
	case reflect.Slice, reflect.Map, reflect.Chan, reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
	}
	switch v.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Uint8, reflect.Float64:
		return fmt.Sprint(v)
	case reflect.Float32:
		return strconv.FormatFloat(v.Float(), 'g', -1, 32)
	case reflect.Complex128:
		return fmt.Sprintf("%g + %gi", real(v.Complex()), imag(v.Complex()))
	case reflect.String:
		return strconv.Quote(v.String())
	case reflect.Interface:
		return fmt.Sprintf("(%s) %s", v.Elem().Type(), text(v.Elem()))
	case reflect.Array:
		return elements(v)
	case reflect.Slice:
		return headed(fmt.Sprintf("%s (len %d, cap %d)", v.Type(), v.Len(), v.Cap()), elements(v))
	case reflect.Struct:
		var parts []string
		for i := range v.NumField() {
			parts = append(parts, v.Type().Field(i).Name+" = "+text(v.Field(i)))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Map:
		var parts []string
		for i := v.MapRange(); i.Next(); {
			parts = append(parts, "["+text(i.Key())+"] = "+text(i.Value()))
		}
		return headed(fmt.Sprintf("%s (len %d)", v.Type(), v.Len()), "{"+strings.Join(parts, ", ")+"}")
	case reflect.Chan:
		return channel(v)
	}
	return "?"
}

func elements(v reflect.Value) string {
	var parts []string
	for i := range v.Len() {
		parts = append(parts, text(v.Index(i)))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

func headed(head, parts string) string {
	if parts == "{}" {
		return head
	}
	return head + " = " + parts
}

// channel takes the elements out and puts them back.
func channel(v reflect.Value) string {
	var parts []string
	for range v.Len() {
		e, _ := v.Recv()
		parts = append(parts, text(e))
		v.Send(e)
	}
	return headed(fmt.Sprintf("%s (len %d, cap %d)", v.Type(), v.Len(), v.Cap()), "{"+strings.Join(parts, ", ")+"}")
}
