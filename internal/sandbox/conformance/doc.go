// Package conformance is the suite that every sandbox strategy passes.
package conformance
