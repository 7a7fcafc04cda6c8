package sample

import "testing"

func TestLevel(t *testing.T) {
	if Level(9) != Low || Level(10) != High {
		t.Error("wrong level")
	}
}

func TestSum(t *testing.T) {
	if got := Sum(3, nil); got != 6 {
		t.Errorf("%d", got)
	}
	if got := Sum(3, func(i int) bool { return i == 2 }); got != 4 {
		t.Errorf("%d", got)
	}
}

func TestName(t *testing.T) {
	for k, want := range map[Kind]string{Low: "low", High: "high"} {
		if got, ok := Name(k, false); got != want || !ok {
			t.Errorf("%q, %v", got, ok)
		}
	}
	if got, ok := Name(7, true); got != "" || ok {
		t.Errorf("%q, %v", got, ok)
	}
	if got, ok := Name(Low, true); got != "low!" || !ok {
		t.Errorf("%q, %v", got, ok)
	}
}

func TestHalf(t *testing.T) {
	if got, ok := Half(8); got != 4 || !ok {
		t.Errorf("%d, %v", got, ok)
	}
	if _, ok := Half(5); ok {
		t.Error("half of 5")
	}
}
