// Package privilege takes capabilities away.
package privilege
