// Package web answers requests.
package web

import (
	"encoding/json"
	"net/http"

	"example.com/greeter/internal/greet"
)

// New returns the service's handler.
func New(g *greet.Greeter) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", hello(g))
	mux.HandleFunc("GET /hello/{name}", hello(g))
	return mux
}

func hello(g *greet.Greeter) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := g.Greet(r.PathValue("name"), r.Header.Get("Accept-Language"))
		if err != nil {
			reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
			return
		}
		reply(w, http.StatusOK, map[string]string{"greeting": text})
	}
}

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
