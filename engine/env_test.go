package engine

import (
	"slices"
	"testing"
)

func TestCommandEnvIsAnAllowList(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{HomeDir: "/home/ada"}}
	environ := []string{
		"PATH=/usr/bin", "HOME=/elsewhere", "LC_TIME=de", "AWS_SECRET_ACCESS_KEY=k", "GITHUB_TOKEN=t", "SSH_AUTH_SOCK=/s",
		"LD_PRELOAD=/x.so", "GIT_DIR=/y", "HTTPS_PROXY=http://u:p@h", "EXTRA=1", "EMPTY=", "=odd", "novalue",
	}
	tests := []struct {
		name string
		opts PlanOptions
		want []string
	}{
		{"default", PlanOptions{}, []string{"AMBIT=1", "AMBIT_PLAN=p", "HOME=/home/ada", "LC_TIME=de", "PATH=/usr/bin"}},
		{"network host passes proxies", PlanOptions{Network: NetworkHost}, []string{"AMBIT=1", "AMBIT_PLAN=p", "HOME=/home/ada", "HTTPS_PROXY=http://u:p@h", "LC_TIME=de", "PATH=/usr/bin"}},
		{"named", PlanOptions{Env: []string{"EXTRA", "NEW=2", "ABSENT"}}, []string{"AMBIT=1", "AMBIT_PLAN=p", "EXTRA=1", "HOME=/home/ada", "LC_TIME=de", "NEW=2", "PATH=/usr/bin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := e.commandEnv(&Plan{ID: "p", Options: tt.opts}, environ, nil, nil)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestCommandEnvSandboxAndOwnVariablesWin(t *testing.T) {
	t.Parallel()
	e := &Engine{cfg: Config{HomeDir: "/h"}}
	got := e.commandEnv(&Plan{ID: "p"}, []string{"PATH=/a"}, []Entrance{{Env: []string{"PATH=/b", "X=1"}}}, map[string]string{"X": "2", "AMBIT_PLAN": "q"})
	want := []string{"AMBIT=1", "AMBIT_PLAN=q", "HOME=/h", "PATH=/b", "X=2"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
