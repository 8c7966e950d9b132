package storetest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/ambit-run/ambit/engine"
)

// fullPlan returns a plan with something in every field of every record that
// hangs on it, so that a field a store forgets is seen the day it is added.
// Strings hold what is awkward to store: quotes, newlines, NUL-free bytes that
// are not UTF-8, and the code points a store might use to escape those.
func fullPlan(id string) *engine.Plan {
	f := filler{}
	p := &engine.Plan{}
	f.fill(reflect.ValueOf(p).Elem(), "plan", 0)
	p.ID, p.Version = id, 0
	for i := range p.Sandboxes {
		p.Sandboxes[i].Plan = id
	}
	return p
}

type filler struct{ n int }

var (
	timeType = reflect.TypeFor[time.Time]()
	rawType  = reflect.TypeFor[json.RawMessage]()
)

func (f *filler) fill(v reflect.Value, name string, depth int) {
	f.n++
	if depth > 12 { // a type that holds itself
		return
	}
	switch v.Type() {
	case timeType:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 30, 12, 0, 0, 123456000+f.n, time.FixedZone("", 3600))))
		return
	case rawType:
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, f.n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("%s-%d \"'\\\n\xff\xc3(\u2028\U0010ff41\ufffd</é", name, f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n%100 + 1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n%100 + 1))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(f.n) + 0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), name, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			f.fill(v.Index(i), name, depth+1)
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			k, e := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(k, name+"-key", depth+1)
			f.fill(e, name, depth+1)
			v.SetMapIndex(k, e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if sf := v.Type().Field(i); sf.IsExported() && sf.Tag.Get("json") != "-" {
				f.fill(v.Field(i), sf.Name, depth+1)
			}
		}
	case reflect.Interface:
	default:
		panic("storetest: cannot fill a " + v.Type().String())
	}
}
