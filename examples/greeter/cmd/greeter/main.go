// Command greeter serves greetings over HTTP.
package main

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"example.com/greeter/internal/greet"
	"example.com/greeter/internal/web"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "greeter:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("greeter", flag.ContinueOnError)
	addr := flags.String("addr", "localhost:8080", "address to listen on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server := &http.Server{Addr: *addr, Handler: web.New(greet.New()), ReadHeaderTimeout: 5 * time.Second}
	fmt.Fprintln(out, "greeter listens on", *addr)
	return server.ListenAndServe()
}
