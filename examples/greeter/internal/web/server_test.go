package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"example.com/greeter/internal/greet"
)

func get(t *testing.T, path string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for k, v := range header {
		r.Header[k] = v
	}
	w := httptest.NewRecorder()
	New(greet.New()).ServeHTTP(w, r)
	return w
}

func TestHello(t *testing.T) {
	w := get(t, "/hello/Ada", http.Header{"Accept-Language": {"de"}})
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "Hallo, Ada!") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := get(t, "/hello/"+strings.Repeat("x", greet.MaxName+1), nil); w.Code != http.StatusBadRequest {
		t.Errorf("long name: %d", w.Code)
	}
	if w := get(t, "/nowhere", nil); w.Code != http.StatusNotFound {
		t.Errorf("unknown path: %d", w.Code)
	}
}
