package ticket

import "testing"

func TestFinished(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want bool
	}{
		{"- [x] a\n- [x] b\n", true},
		{"- [x] a\n- [-] b\n", true},
		{"- [x] a\n- [ ] b\n", false},
		{"- [x] a\n- [~] b\n", false},
		{"- [x] a\n- [/] b\n", false},
		{"# Only words\n", false},
		{"- [x] a\n  - [ ] nested\n", false},
	} {
		got, _ := Parse("t.md", []byte(tt.text), Options{})
		if got.Finished() != tt.want {
			t.Errorf("%q: %v, want %v", tt.text, got.Finished(), tt.want)
		}
	}
}
