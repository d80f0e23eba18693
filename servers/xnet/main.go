// golang.org/x/net/webdav on a directory, with locks in memory, and nothing else: what servers that are
// built on it begin with.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"runtime/debug"

	"golang.org/x/net/webdav"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	dir := flag.String("dir", ".", "directory to serve")
	version := flag.Bool("version", false, "print the version of golang.org/x/net")
	flag.Parse()
	if *version {
		printVersion()
		return
	}
	handler := &webdav.Handler{FileSystem: webdav.Dir(*dir), LockSystem: webdav.NewMemLS()}
	log.Fatal(http.ListenAndServe(*listen, handler))
}

func printVersion() {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		log.Fatal("the program was built without its modules")
	}
	for _, module := range build.Deps {
		fmt.Println(module.Path, module.Version)
	}
}
