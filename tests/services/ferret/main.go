// FerretDB as a library: its own command cannot be built from the module proxy.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: ferret ADDRESS POSTGRESQL_URL")
	}
	address := os.Args[1]
	server, err := ferretdb.New(&ferretdb.Config{
		Listener:      ferretdb.ListenerConfig{TCP: address},
		Handler:       "postgresql",
		PostgreSQLURL: os.Args[2],
	})
	if err != nil {
		log.Fatal(err)
	}
	until, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go announce(address)
	if err := server.Run(until); err != nil && until.Err() == nil {
		log.Fatal(err)
	}
}

// Prints "ready" as soon as a client can connect.
func announce(address string) {
	for {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			fmt.Println("ready", address)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
