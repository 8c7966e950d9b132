// Package confine runs commands so that they cannot do more than they were given.
package confine
