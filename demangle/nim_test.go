package demangle

import "testing"

func TestNim(t *testing.T) {
	for in, want := range map[string]string{
		"crash__shop_64": "crash", "incl__pureZcollectionsZsets_12": "incl", "pluspercent___system_696": "+%", "dollar___shop_16": "$", "eqdestroy___system_4733": "=destroy",
		"colonanonymous___shop_3351": ":anonymous", "eqeq___strtabs_5": "==", "plusone__shop_2": "plusone", "plus__shop_2": "plus", "eqfoo___shop_3": "eqfoo_",
		"crash__shop": "crash__shop", "crash_shop_64": "crash_shop_64", "__shop_64": "__shop_64", "crash___64": "crash___64", "NimMain": "NimMain", "a b__shop_6": "a b__shop_6",
		"f__9shop_6": "f__9shop_6",
	} {
		if got := Nim(in); got != want {
			t.Errorf("Nim(%q) = %q; want %q", in, got, want)
		}
	}
}
